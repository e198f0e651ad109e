// Command site renders the documents of the repository as static pages, which need no
// server: guides, references, runbooks, and a page for each rule of validate. It knows
// the documents and nothing of what they are about.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site REPOSITORY DIR: renders the documents of a repository into a directory")
		os.Exit(1)
	}
	if err := build(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// build renders everything into a directory, which is recreated.
func build(repository, dir string) error {
	s, err := read(repository)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return s.write(dir)
}
