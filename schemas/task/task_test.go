package task_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/lkeplan/lkeplan/schemas/task"
)

// TestPanicIsAnErrorOfItsItem, and the other items are done.
func TestPanicIsAnErrorOfItsItem(t *testing.T) {
	done := make(chan int, 3)
	errs := task.Each(slog.New(slog.DiscardHandler), 1, []int{1, 2, 3}, func(i, n int) error {
		if i == 1 {
			panic("assignment to entry in nil map")
		}
		done <- n
		return nil
	})
	if errs[0] != nil || !task.Panicked(errs[1]) || errs[2] != nil || len(done) != 2 {
		t.Errorf("%d items were done, and the errors are %v", len(done), errs)
	}
	if err := fmt.Errorf("no bug: %w", errors.ErrUnsupported); task.Panicked(err) {
		t.Errorf("%v is taken for a bug", err)
	}
}
