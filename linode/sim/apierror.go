package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// apiError is an answer with an error, in the API's only form for errors.
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

func refusalError(status int, field, reason string) *apiError {
	return &apiError{status: status, errs: []fieldError{{Reason: reason, Field: field}}}
}

func notFound() *apiError { return refusalError(http.StatusNotFound, "", "Not found") }

// errorBody returns the API's body for errors.
func errorBody(errs []fieldError) []byte {
	body, _ := json.Marshal(struct { // strings always encode
		Errors []fieldError `json:"errors"`
	}{errs})
	return body
}

// requestChecker collects the errors of a request, so that one answer has all of them.
type requestChecker struct{ errs []fieldError }

func (c *requestChecker) add(field, format string, args ...any) {
	c.errs = append(c.errs, fieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (c *requestChecker) must(ok bool, field, format string, args ...any) {
	if !ok {
		c.add(field, format, args...)
	}
}

func (c *requestChecker) error() error {
	if len(c.errs) == 0 {
		return nil
	}
	return &apiError{status: http.StatusBadRequest, errs: c.errs}
}
