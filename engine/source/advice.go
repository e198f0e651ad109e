package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Advised is an error with a command that fixes it.
type Advised struct {
	Err  error
	Type string // a shell command
}

// Error implements error.
func (e Advised) Error() string { return fmt.Sprintf("%v; type:\n  %s", e.Err, e.Type) }

// Unwrap is for package errors.
func (e Advised) Unwrap() error { return e.Err }

func withAdvice(err error, command string) error { return Advised{err, command} }

// git returns a git command for this repository, independent of the working directory.
func (s *Source) git(arguments string) string {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	top, topErr := filepath.EvalSymlinks(s.top)
	if err != nil || topErr != nil {
		return "git " + arguments
	}
	if below, err := filepath.Rel(top, here); err == nil && filepath.IsLocal(below) {
		return "git " + arguments
	}
	return fmt.Sprintf("git -C %s %s", diag.ShellLine(s.top), arguments)
}

// fetch returns the command that fetches a branch with its history, or everything if the name is "".
func (s *Source) fetch(remote, branch string) string {
	words := []string{"fetch"}
	if s.program.shallow {
		words = append(words, "--unshallow")
	}
	words = append(words, diag.ShellLine(remote))
	if branch != "" {
		words = append(words, diag.ShellLine("+refs/heads/"+branch+":refs/remotes/"+remote+"/"+branch))
	}
	return s.git(strings.Join(words, " "))
}

// deepen returns the command that fetches older commits.
func (s *Source) deepen() string {
	remote, err := s.remote()
	if err != nil || remote == "" {
		remote = "REMOTE"
	}
	return s.fetch(remote, "")
}

// remote returns the remote that changes go to: origin, or the only remote; "" if there is none.
func (s *Source) remote() (string, error) {
	remotes, err := s.program.remotes()
	if err != nil || len(remotes) == 0 {
		return "", err
	}
	if slices.Contains(remotes, "origin") {
		return "origin", nil
	}
	if len(remotes) == 1 {
		return remotes[0], nil
	}
	return "", withAdvice(fmt.Errorf("none of the remotes %s is called origin; select the branch that the change goes to",
		strings.Join(remotes, ", ")), "lkeplan diff --base git:"+remotes[0]+"/BRANCH")
}

// unborn returns the error of a repository without commits.
func (s *Source) unborn(err error) error {
	if branch, symbolicErr := s.program.symbolic("HEAD"); symbolicErr == nil && branch != "" {
		return fmt.Errorf("there are no commits on %s yet, so there is nothing to compare with; commit first, or "+
			"select a directory with --base dir:PATH", strings.TrimPrefix(branch, "refs/heads/"))
	}
	return fmt.Errorf("find the commit of HEAD: %w", err)
}
