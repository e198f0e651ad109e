package migrate

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Difference is one field in which two states of an object differ.
type Difference struct {
	Object string // such as "NodePool general"
	Path   string // of the field; "" where it is about the object as a whole
	Why    string
}

// String is one line.
func (d Difference) String() string {
	if d.Path == "" {
		return d.Object + ": " + d.Why
	}
	return d.Object + ": " + d.Path + ": " + d.Why
}

// differences lists the fields in which two states of an object differ. It
// leaves Object to the caller.
func differences(before, after map[string]any) (rest []Difference, err error) {
	state := func(obj map[string]any) plan.State {
		return plan.State{Objects: []config.Object{{Manifest: obj, Defaulted: obj}}}
	}
	p, err := plan.Diff(state(before), state(after))
	if err != nil {
		return nil, err
	}
	for _, c := range p.Changes {
		for _, f := range c.Fields {
			rest = append(rest,
				Difference{Path: f.Path, Why: fmt.Sprintf("%s, and from the HCL %s", said(f.Before), said(f.After))})
		}
	}
	return rest, nil
}

// said writes a value so that a number and the same text differ.
func said(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.QuoteToASCII(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
