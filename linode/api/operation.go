package api

import (
	"context"
	"fmt"
)

// operation is one call of linodego: one request, or one for each page of a list.
// linodego flattens every error to text, those of its transport too. So the
// transport notes here what happened, so that callers can distinguish errors.
type operation struct {
	sent bool // something went over the wire
	err  error
}

type operationKey struct{}

// callAPI runs one call of linodego, which the error names, and returns the error as the transport saw it.
func callAPI(ctx context.Context, what string, call func(context.Context) error) error {
	var op operation
	err := call(context.WithValue(ctx, operationKey{}, &op))
	switch {
	case err == nil:
		return nil
	case op.err != nil:
		err = op.err
	case !op.sent:
		err = &notSentError{err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

func operationOf(ctx context.Context) *operation {
	if op, ok := ctx.Value(operationKey{}).(*operation); ok {
		return op
	}
	return &operation{} // no caller of do waits for this request
}

func (o *operation) failed(err error) error {
	o.err = err
	return err
}
