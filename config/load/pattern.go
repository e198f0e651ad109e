package load

import (
	"fmt"
	"path"
	"strings"
)

// The limits of a pattern. Braces multiply: each pair makes as many patterns as it has
// alternatives.
const (
	maxPattern  = 200
	maxPatterns = 100
)

// A pattern matches the path of a file. It is a list of alternatives, each with a pattern for each
// path element.
type pattern [][]string

// parsePattern reads a pattern in the syntax of path.Match, with ** for any directories and {a,b}
// for alternatives.
func parsePattern(text string) (pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d characters", maxPattern)
	}
	texts, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	var p pattern
	for _, text := range texts {
		steps := strings.Split(path.Clean(text), "/")
		for _, step := range steps {
			if _, err := path.Match(step, ""); err != nil {
				return nil, fmt.Errorf("invalid pattern %q: a bracket is not closed, or a character is missing", text)
			}
		}
		p = append(p, steps)
	}
	return p, nil
}

// expandBraces expands the braces of a pattern.
func expandBraces(text string) ([]string, error) {
	done, open := []string{}, []string{text}
	for len(open) > 0 {
		if len(done)+len(open) > maxPatterns {
			return nil, fmt.Errorf("the braces of the pattern expand to more than %d patterns", maxPatterns)
		}
		next := open[0]
		open = open[1:]
		// The innermost braces close first.
		before, after, closed := strings.Cut(next, "}")
		start := strings.LastIndexByte(before, '{')
		switch {
		case !closed && strings.Contains(next, "{"), closed && start < 0:
			return nil, fmt.Errorf("invalid pattern %q: its braces do not match", text)
		case !closed:
			done = append(done, next)
		default:
			for choice := range strings.SplitSeq(before[start+1:], ",") {
				open = append(open, before[:start]+choice+after)
			}
		}
	}
	return done, nil
}

// below reports whether the pattern can match files in a directory.
func (p pattern) below(dir string) bool {
	for _, pattern := range p {
		if matchesBelow(pattern, strings.Split(dir, "/")) {
			return true
		}
	}
	return false
}

func matchesBelow(pattern, steps []string) bool {
	for i, step := range steps {
		if i < len(pattern) && pattern[i] == "**" {
			return true
		}
		if i+1 >= len(pattern) {
			return false
		}
		if fits, _ := path.Match(pattern[i], step); !fits {
			return false
		}
	}
	return true
}

func (p pattern) match(name string) bool {
	steps := strings.Split(name, "/")
	for _, alternative := range p {
		if matchSteps(alternative, steps) {
			return true
		}
	}
	return false
}

// matchSteps computes, from the last path element to the first, which ends of the path match each
// end of the pattern.
func matchSteps(pattern, steps []string) bool {
	fits := make([]bool, len(steps)+1)
	fits[len(steps)] = true
	for i := len(pattern) - 1; i >= 0; i-- {
		next := make([]bool, len(steps)+1)
		for j := len(steps); j >= 0; j-- {
			if pattern[i] == "**" {
				next[j] = fits[j] || j < len(steps) && next[j+1]
				continue
			}
			if j < len(steps) && fits[j+1] {
				next[j], _ = path.Match(pattern[i], steps[j])
			}
		}
		fits = next
	}
	return fits[0]
}
