package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Line names the line on which a range begins: main.lke.hcl:3.
func Line(at hcl.Range) string { return fmt.Sprintf("%s:%d", at.Filename, at.Start.Line) }

// Error is an error without a place in a file.
func Error(summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail}
}

// At is an error at a place in the source.
func At(summary, detail string, at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
}

// Limit is an error about a limit that a configuration has reached. Others may
// follow from it, so it is kept where they are many.
func Limit(summary, detail string, at hcl.Range) *hcl.Diagnostic {
	d := At(summary, detail, at)
	d.Extra = limit{}
	return d
}

type limit struct{}

// AtExpression is an error about the value of an expression.
func AtExpression(summary, detail string, expr hcl.Expression) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: expr.Range().Ptr(),
		Expression: expr}
}

// The limits of what is kept: nobody reads more, and each mistake in a list, a
// module or a loop may be there a million times.
const (
	MaxKept   = 400  // errors, and as many warnings
	maxDetail = 4000 // bytes of one message
)

// Append adds diagnostics to a list as long as it is not too long: where it is,
// no more of their severity are kept, but for the first error about each limit,
// which takes the place of another. What is said at length is cut.
func Append(list hcl.Diagnostics, more ...*hcl.Diagnostic) hcl.Diagnostics {
	if len(list)+len(more) <= MaxKept {
		list = append(list, more...)
	} else {
		list = appendSome(list, more)
	}
	for _, d := range list[len(list)-min(len(list), len(more)):] {
		d.Detail = cut(d.Detail, maxDetail)
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

// withoutOne drops the last error that is about no limit.
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

// cut shortens text to so many bytes, and says so.
func cut(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "") + " ... (cut)"
}

// Sort orders by place, so that the output never depends on the
// order of evaluation, and drops repetitions.
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

// CompareRanges orders places in the source by file and position; what has no
// place comes first.
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
