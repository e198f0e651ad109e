package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Check returns an error that names the lines of the first duplicate key in JSON text. It ignores
// other errors, which a decoder reports.
func UniqueKeys(text []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(text))
	var open []map[string]int64 // the keys of each open object, with their ends; nil for a list
	isKey := false
	for {
		token, err := tokens.Token()
		if err != nil {
			return nil
		}
		if key, isText := token.(string); isText && isKey {
			keys, at := open[len(open)-1], tokens.InputOffset()
			if before, twice := keys[key]; twice {
				return fmt.Errorf("line %d: duplicate key %q in an object, first on line %d", line(text, at), key,
					line(text, before))
			}
			keys[key], isKey = at, false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]int64{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		isKey = len(open) > 0 && open[len(open)-1] != nil
	}
}

// line returns the line number of a position, starting at 1.
func line(text []byte, at int64) int { return bytes.Count(text[:at], []byte("\n")) + 1 }
