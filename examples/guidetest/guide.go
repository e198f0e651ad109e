// Package guidetest runs guides: READMEs that show commands with what they print.
// It holds them to it, and knows nothing of what the commands are about.
//
// A block of the language console has commands, each behind "$ ", and what they print.
// A command continues on the next line after a backslash.
// A block of the language diff changes one place of a file that its first line names. A
// command that is to fail has its exit code in a comment: "# exit code 3". In what is
// printed "..." stands for anything, and spaces for any number of spaces. A comment
// before a block says where it is run: "<!-- in a sandbox -->", or "<!-- not run: WHY -->".
package guidetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// step is one thing that a guide has done: a command, or a change of files.
type step struct {
	line     int // of the document, from 1
	sandbox  bool
	edit     *edit // or else
	command  string
	exit     int
	output   string
	from, to int // of the output, in lines of the document from 0
}

// edit replaces lines of a file, which are there once.
type edit struct{ file, before, after string }

var exitCode = regexp.MustCompile(`\s+# exit code ([0-9]+)$`)

const (
	inSandbox = "<!-- in a sandbox -->"
	notRun    = "<!-- not run: "
)

// parse returns the steps of a guide.
func parse(text string) (steps []step, err error) {
	lines := strings.Split(text, "\n")
	marker := ""
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		language, opens := strings.CutPrefix(line, "```")
		if !opens {
			if line != "" {
				marker = line
			}
			continue
		}
		first := i + 1
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: a block that does not end", first)
		}
		if !strings.HasPrefix(marker, notRun) {
			found, err := block(language, lines[:i], first)
			if err != nil {
				return nil, err
			}
			for _, s := range found {
				s.sandbox = marker == inSandbox
				steps = append(steps, s)
			}
		}
		marker = ""
	}
	return steps, nil
}

// block returns the steps of the block that begins at a line and ends the lines.
func block(language string, lines []string, first int) (steps []step, err error) {
	switch language {
	case "diff":
		if len(lines) == first || !strings.HasPrefix(lines[first], "--- ") {
			return nil, fmt.Errorf("line %d: a change begins with the name of the file", first+1)
		}
		e := edit{file: strings.TrimPrefix(lines[first], "--- ")}
		for _, line := range lines[first+1:] {
			text := line[min(1, len(line)):] + "\n"
			if !strings.HasPrefix(line, "+") {
				e.before += text
			}
			if !strings.HasPrefix(line, "-") {
				e.after += text
			}
		}
		return []step{{line: first + 1, edit: &e}}, nil
	case "console":
		for i := first; i < len(lines); i++ {
			command, ok := strings.CutPrefix(lines[i], "$ ")
			if !ok && len(steps) == 0 {
				return nil, fmt.Errorf("line %d: a block of commands begins with $", i+1)
			}
			if ok {
				line := i + 1
				for strings.HasSuffix(command, `\`) && i+1 < len(lines) {
					i++
					command += "\n" + lines[i]
				}
				s := step{line: line, command: command, from: i + 1}
				if m := exitCode.FindStringSubmatch(command); m != nil {
					s.exit, _ = strconv.Atoi(m[1]) // three digits at most make sense
				}
				steps = append(steps, s)
			}
			last := &steps[len(steps)-1]
			last.to = i + 1
			last.output = strings.Join(lines[last.from:last.to], "\n")
		}
	}
	return steps, nil
}

// matches reports whether a command printed what a guide shows.
func matches(shown, printed string) bool {
	var pattern strings.Builder
	for line := range strings.SplitSeq(normal(shown), "\n") {
		if line == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + "\n")
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(normal(printed) + "\n")
}

var spaces = regexp.MustCompile(`[ \t]+`)

// normal is text without invisible characters.
func normal(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimSpace(spaces.ReplaceAllString(line, " ")))
	}
	return strings.Join(lines, "\n")
}

// variable is what differs from one clone to another.
var variable = regexp.MustCompile(`\bcommit [0-9a-f]{12}\b`)

// rewritten is the document with what the commands have printed; steps without an
// entry stay as they are.
func rewritten(text string, steps []step, printed map[int]string) string {
	lines := strings.Split(text, "\n")
	for i := len(steps) - 1; i >= 0; i-- {
		output, ok := printed[i]
		if !ok {
			continue
		}
		var fresh []string
		output = strings.Trim(output, "\n")
		if output != "" {
			fresh = strings.Split(variable.ReplaceAllString(output, "commit ..."), "\n")
		}
		lines = append(lines[:steps[i].from:steps[i].from], append(fresh, lines[steps[i].to:]...)...)
	}
	return strings.Join(lines, "\n")
}
