package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// GitHub writes diagnostics as workflow commands of GitHub Actions, which shows them at their lines
// in the pull request. It shows at most ten errors and ten warnings of a step, so errors come
// first.
func GitHub(w io.Writer, diags []Diagnostic) error {
	out := bufio.NewWriter(w)
	for _, severity := range []string{"error", "warning"} {
		for _, d := range diags {
			if d.Severity == severity {
				annotate(out, d)
			}
		}
	}
	return out.Flush()
}

func annotate(w io.Writer, d Diagnostic) {
	properties := []string{}
	if at := d.Range; at != nil {
		properties = append(properties, "file="+escapeProperty(at.Filename), fmt.Sprintf("line=%d", at.Start.Line))
		if at.End.Line > at.Start.Line {
			properties = append(properties, fmt.Sprintf("endLine=%d", at.End.Line))
		} else {
			// GitHub shows columns only for single lines.
			properties = append(properties, fmt.Sprintf("col=%d", at.Start.Column),
				fmt.Sprintf("endColumn=%d", at.End.Column))
		}
	}
	properties = append(properties, "title="+escapeProperty(d.Summary))
	text := d.Detail
	if text == "" {
		text = d.Summary
	}
	if d.Snippet != nil {
		for _, value := range d.Snippet.Values {
			text += "\n" + value
		}
	}
	fmt.Fprintf(w, "::%s %s::%s\n", d.Severity, strings.Join(properties, ","), escapeData(text))
}

// escapeData and property escape text so that it cannot end the command or start another. The rules are
// those of @actions/core.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func escapeProperty(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
