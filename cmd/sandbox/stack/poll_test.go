package stack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoll(t *testing.T) {
	no := errors.New("not yet")
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		err := poll(t.Context(), nil, func(context.Context) error {
			if asked++; asked < 3 {
				return no
			}
			return nil
		})
		if err != nil || asked != 3 {
			t.Errorf("asked %d times: %v", asked, err)
		}

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too late"))
		defer cancel()
		err = poll(ctx, nil, func(context.Context) error { return no })
		if err == nil || !strings.Contains(err.Error(), "too late") || !errors.Is(err, no) {
			t.Errorf("at the deadline: %v, want it and the last answer", err)
		}

		gone := make(chan struct{})
		close(gone)
		if err := poll(t.Context(), gone, func(context.Context) error { return no }); !errors.Is(err, errExited) {
			t.Errorf("of a process that ended: %v", err)
		}
	})
}
