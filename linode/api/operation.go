package api

import (
	"context"
	"fmt"
)

// operation is one call of linodego: one request, or one for each page of a list. linodego turns each error into
// text, including those of its transport. Therefore the transport stores here what happened, so that callers can
// distinguish errors.
type operation struct {
	sent bool // something was sent
	err  error
}

type operationKey struct{}

// callAPI runs one call of linodego, names it in errors, and returns the error that the transport has stored.
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
	return &operation{} // no caller of callAPI waits for this request
}

func (o *operation) failed(err error) error {
	o.err = err
	return err
}
