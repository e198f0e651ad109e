package lkesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// apiError is an answer other than 200, in the one form that the API has for it.
type apiError struct {
	status int
	errs   []fieldError
}

type fieldError struct {
	Reason string `json:"reason"`
	Field  string `json:"field,omitempty"`
}

func (e *apiError) Error() string {
	var reasons []string
	for _, err := range e.errs {
		reasons = append(reasons, strings.TrimPrefix(err.Field+": "+err.Reason, ": "))
	}
	return fmt.Sprintf("%d %s", e.status, strings.Join(reasons, "; "))
}

func refusal(status int, field, reason string) *apiError {
	return &apiError{status: status, errs: []fieldError{{Reason: reason, Field: field}}}
}

func notFound() *apiError { return refusal(http.StatusNotFound, "", "Not found") }

// errorBody is what the API writes for an error.
func errorBody(errs []fieldError) []byte {
	body, _ := json.Marshal(struct { // strings always encode
		Errors []fieldError `json:"errors"`
	}{errs})
	return body
}

// checker collects what is wrong with a request, so that one answer names all of it.
type checker struct{ errs []fieldError }

func (c *checker) add(field, format string, args ...any) {
	c.errs = append(c.errs, fieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (c *checker) must(ok bool, field, format string, args ...any) {
	if !ok {
		c.add(field, format, args...)
	}
}

func (c *checker) err() error {
	if len(c.errs) == 0 {
		return nil
	}
	return &apiError{status: http.StatusBadRequest, errs: c.errs}
}

// bodyFields is a request's JSON object. A key that is null counts as left out, as in recorded requests.
type bodyFields map[string]json.RawMessage

func parseBody(data []byte) (bodyFields, error) {
	var fields bodyFields
	if len(data) == 0 {
		return fields, nil
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, refusal(http.StatusBadRequest, "", "Invalid JSON") // assumption: the text
	}
	return fields, nil
}

// take reads one field; nil where it is left out. A value of another type is the client's error, in words of our own.
func take[T any](c *checker, fields bodyFields, key string) *T {
	raw, ok := fields[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			c.add(key, "Must be of type %s", wrong.Type)
		} else {
			c.add(key, "Invalid value")
		}
		return nil
	}
	return value
}
