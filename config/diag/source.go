package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Line returns the name of the line on which a range starts: main.lke.hcl:3. Messages for people
// rewrite the file name relative to the working directory.
func Line(at hcl.Range) string { return fmt.Sprintf("%s:%d", at.Filename, at.Start.Line) }

// Error returns an error without a place in a file.
func Error(summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail}
}

// At returns an error at a place in the source.
func At(summary, detail string, at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
}

// Limit returns an error about a limit that a configuration exceeds. Other errors can follow from
// it, so it is kept if there are many.
func Limit(summary, detail string, at hcl.Range) *hcl.Diagnostic {
	d := At(summary, detail, at)
	d.Extra = limit{}
	return d
}

type limit struct{}

// AtExpression returns an error about the value of an expression.
func AtExpression(summary, detail string, expr hcl.Expression) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: expr.Range().Ptr(),
		Expression: expr}
}

// The limits of the messages that are kept: no user reads more, and a mistake in a list, a module
// or a loop can occur a million times.
const (
	MaxKept   = 400  // errors, and the same number of warnings
	maxDetail = 4000 // bytes of one message
)

// Append adds diagnostics to a list. When the list is full, it drops further ones of their
// severity, except for the first error about each limit, which replaces another error. It truncates
// long details.
func Append(list hcl.Diagnostics, more ...*hcl.Diagnostic) hcl.Diagnostics {
	if len(list)+len(more) <= MaxKept {
		list = append(list, more...)
	} else {
		list = appendSome(list, more)
	}
	for _, d := range list[len(list)-min(len(list), len(more)):] {
		d.Detail = Shorten(d.Detail, maxDetail)
	}
	return list
}

func appendSome(list, more hcl.Diagnostics) hcl.Diagnostics {
	kept := map[hcl.DiagnosticSeverity]int{}
	limits := map[string]bool{}
	for _, d := range list {
		kept[d.Severity]++
		if isLimit(d) {
			limits[d.Summary] = true
		}
	}
	for _, d := range more {
		kept[d.Severity]++
		first := isLimit(d) && !limits[d.Summary]
		if first {
			limits[d.Summary] = true
		}
		switch {
		case kept[d.Severity] <= MaxKept:
			list = append(list, d)
		case first:
			list = append(withoutOne(list), d)
		}
	}
	return list
}

// withoutOne drops the last error that is not about a limit.
func withoutOne(list hcl.Diagnostics) hcl.Diagnostics {
	for n, d := range slices.Backward(list) {
		if d.Severity == hcl.DiagError && !isLimit(d) {
			return slices.Delete(list, n, n+1)
		}
	}
	return list
}

func isLimit(d *hcl.Diagnostic) bool {
	_, is := d.Extra.(limit)
	return is
}

// Sort orders diagnostics by place, so the output does not depend on the order of evaluation, and
// drops duplicates.
func Sort(diags hcl.Diagnostics) hcl.Diagnostics {
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		if c := CompareRanges(a.Subject, b.Subject); c != 0 {
			return c
		}
		return strings.Compare(a.Summary+a.Detail, b.Summary+b.Detail)
	})
	return slices.CompactFunc(diags, func(a, b *hcl.Diagnostic) bool {
		return CompareRanges(a.Subject, b.Subject) == 0 && a.Summary == b.Summary && a.Detail == b.Detail
	})
}

// CompareRanges orders places in the source by file and position. A missing place comes first.
func CompareRanges(a, b *hcl.Range) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case a.Filename != b.Filename:
		return strings.Compare(a.Filename, b.Filename)
	}
	return a.Start.Byte - b.Start.Byte
}
