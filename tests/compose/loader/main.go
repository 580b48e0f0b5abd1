// Loads compose files the way the engine does (unknown keys, interpolation, merges, types, references)
// and prints the resolved project as JSON: loader FILE [OVERRIDE…]. All profiles are on.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	text, err := load(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}

func load(files []string) ([]byte, error) {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithResolvedPaths(true), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	return project.MarshalJSON()
}
