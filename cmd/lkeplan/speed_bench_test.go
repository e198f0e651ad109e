package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkProcess measures whole runs of the program on directories with many blocks: the
// CPU time of all threads, and the peak memory.
func BenchmarkProcess(b *testing.B) {
	program := itself(b)
	for _, n := range []int{1, 500, 5000} {
		dir := b.TempDir()
		writeFleet(b, dir, n, "720h")
		measure(b, fmt.Sprintf("validate %d", n), program, "validate", dir)
	}
	dir := b.TempDir()
	writeFleet(b, dir, 500, "720h")
	git(b, dir, "init", "-q", "-b", "main")
	git(b, dir, "add", "-A")
	git(b, dir, "commit", "-qm", "one")
	git(b, dir, "checkout", "-qb", "change")
	writeFleet(b, dir, 500, "336h")
	measure(b, "diff 500 with Git", program, "diff", dir)
}

// itself lets the test binary run under the name of the program.
func itself(b *testing.B) string {
	b.Helper()
	binary, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "lkeplan")
	if err := os.Symlink(binary, program); err != nil {
		b.Fatal(err)
	}
	return program
}

// writeFleet writes a directory of n pools, 200 to a file.
func writeFleet(b *testing.B, dir string, n int, expireAfter string) {
	b.Helper()
	files := map[string]*strings.Builder{"main.lke.hcl": {}}
	files["main.lke.hcl"].WriteString(`cluster {
  name   = "fleet"
  region = "us-ord"
}

locals {
  base = { arch = "amd64", os = "linux", cpu = between(2, 48) }
}

node_class "default" {
  tags = ["env:prod"]
}
`)
	for i := range n {
		name := fmt.Sprintf("pools%02d.lke.hcl", i/200)
		if files[name] == nil {
			files[name] = &strings.Builder{}
		}
		fmt.Fprintf(files[name], fleetPool, fmt.Sprint("team", i), expireAfter)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

const fleetPool = `
pool "%[1]s" {
  node_class   = node_class.default
  requirements = merge(local.base, { class = ["dedicated", "standard"], memory = gte("8Gi") })
  labels       = { "example.com/team" = "%[1]s" }
  taints       = ["example.com/team=%[1]s:NoSchedule"]
  limits       = { cpu = 400, memory = "1600Gi" }
  expire_after = "%[2]s"

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%%"
    }

    budget {
      nodes    = 0
      reasons  = ["Drifted"]
      schedule = "0 13 * * mon-fri"
      duration = "10h"
    }
  }
}
`

func git(b *testing.B, dir string, args ...string) {
	b.Helper()
	args = append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// measure runs the program repeatedly, including its git processes.
func measure(b *testing.B, name, program string, args ...string) {
	b.Run(name, func(b *testing.B) {
		var cpu time.Duration
		var most int64
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), program, args...)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %v\n%s", args, err, out[:min(len(out), 2000)])
			}
			cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				most = max(most, used.Maxrss)
			}
		}
		b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "CPU-ms/op")
		b.ReportMetric(float64(most)/1024, "MiB")
	})
}
