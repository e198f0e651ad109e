package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

// commandGrace is how long the command may take to stop after a signal was passed
// on to it.
const commandGrace = 30 * time.Second

func (a *app) run() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command in a new sandbox",
		Long: `Start a sandbox, run a command with its environment variables, stop the sandbox,
and exit as the command did. kubectl is in the command's PATH. Nothing of the
sandbox outlives this command, however it ends.

    sandbox run -- kubectl get --raw /version
    sandbox run --tier enterprise --join-delay 1s -- go test ./...`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command: want sandbox run [flags] -- COMMAND [ARGUMENT...]")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runIn(cmd.Context(), s, args) },
	}
	s.register(cmd.Flags())
	// The first word that is not a flag is the command; flags after it belong to the command.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (a *app) runIn(ctx context.Context, s settings, args []string) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	guard := process.NewGuard()
	st, err := a.start(ctx, s, guard)
	if err != nil {
		return err
	}
	if st.Found {
		return fmt.Errorf("a sandbox is already running in %s; use another --dir or none", st.Dir)
	}
	a.log.Printf("ready in %.1fs", st.ReadySeconds)
	status, err := a.command(ctx, st, guard, args, signals)
	if down := a.end(ctx, st); down != nil {
		err = errors.Join(err, down)
	}
	if err != nil {
		return err
	}
	if status != 0 {
		return exitStatus(status)
	}
	return nil
}

// command runs the command and returns its exit status.
func (a *app) command(ctx context.Context, st *stack.Stack, guard *process.Guard, args []string,
	signals <-chan os.Signal) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	st.Watch(watch, a.log.Printf)

	cmd := exec.Command("env", append([]string{"--"}, args...)...) // env looks for the program in the PATH of the sandbox
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = st.Environ(a.environ), a.stdin, a.stdout, a.stderr
	shared := sharesTerminal()
	if !shared {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if err := guard.Run(cmd); err != nil {
		return 0, fmt.Errorf("run %s: %w", args[0], err)
	}
	done := make(chan struct{})
	go passOn(cmd.Process.Pid, shared, signals, done)
	err := cmd.Wait()
	close(done)
	return statusOf(err)
}

// passOn passes signals on to the command, and kills it if it does not stop.
//
// A command that shares our terminal is in the foreground process group and gets every ctrl-C from the terminal; a
// second one from us would mean that it must quit immediately. Any other command has its own process group, and the
// signal goes to the whole group.
func passOn(pid int, shared bool, signals <-chan os.Signal, done <-chan struct{}) {
	target := -pid
	if shared {
		target = pid
	}
	var kill <-chan time.Time
	for {
		select {
		case <-done:
			return
		case <-kill:
			_ = syscall.Kill(target, syscall.SIGKILL)
		case s := <-signals:
			if shared && s == syscall.SIGINT {
				continue
			}
			_ = syscall.Kill(target, s.(syscall.Signal))
			if kill == nil {
				kill = time.After(commandGrace)
			}
		}
	}
}

// statusOf returns the exit status of a command as shells report it.
func statusOf(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	if wait, ok := exit.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return 128 + int(wait.Signal()), nil
	}
	return exit.ExitCode(), nil
}
