// Checks Prometheus' files with Prometheus' own code, without building all of Prometheus:
//
//	promcheck config PROMETHEUS.YML   the configuration and the rule files that it names; prints their expressions
//	promcheck queries < QUERIES       one expression per line; prints what each one selects
//
// Both print JSON: a list of {expr, series: [{name, labels}], by}, `labels` being those that matchers name and
// `by` those that aggregations keep or match on.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type series struct {
	Name   string   `json:"name"`
	Labels []string `json:"labels"`
}

type query struct {
	Expr   string   `json:"expr"`
	Series []series `json:"series"`
	By     []string `json:"by"`
}

func main() {
	queries, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(queries)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) ([]query, error) {
	switch {
	case len(arguments) == 2 && arguments[0] == "config":
		return checkConfig(arguments[1])
	case len(arguments) == 1 && arguments[0] == "queries":
		return readQueries()
	}
	return nil, fmt.Errorf("usage: promcheck config PROMETHEUS.YML | promcheck queries < QUERIES")
}

func checkConfig(path string) ([]query, error) {
	loaded, err := config.LoadFile(path, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	var queries []query
	for _, pattern := range loaded.RuleFiles {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s: names no rule file (%v)", pattern, err)
		}
		for _, file := range files {
			found, err := checkRules(file)
			if err != nil {
				return nil, err
			}
			queries = append(queries, found...)
		}
	}
	return queries, nil
}

func checkRules(file string) ([]query, error) {
	groups, problems := rulefmt.ParseFile(file, false, model.UTF8Validation, newParser(), slog.New(slog.DiscardHandler))
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %v", file, problems)
	}
	var queries []query
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			found, err := parse(rule.Expr)
			if err != nil {
				return nil, err
			}
			queries = append(queries, found)
		}
	}
	return queries, nil
}

func readQueries() ([]query, error) {
	var queries []query
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		found, err := parse(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		queries = append(queries, found)
	}
	return queries, lines.Err()
}

func newParser() parser.Parser {
	return parser.NewParser(parser.Options{})
}

func parse(text string) (query, error) {
	expression, err := newParser().ParseExpr(text)
	if err != nil {
		return query{}, err
	}
	found := query{Expr: text, By: []string{}}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch part := node.(type) {
		case *parser.VectorSelector:
			found.Series = append(found.Series, selected(part))
		case *parser.AggregateExpr:
			found.By = append(found.By, part.Grouping...)
		case *parser.BinaryExpr:
			if part.VectorMatching != nil {
				found.By = append(found.By, part.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	return found, nil
}

func selected(selector *parser.VectorSelector) series {
	found := series{Name: selector.Name, Labels: []string{}}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name != model.MetricNameLabel {
			found.Labels = append(found.Labels, matcher.Name)
		}
	}
	return found
}
