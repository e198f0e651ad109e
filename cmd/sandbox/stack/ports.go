package stack

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// loopback is the only address anything here listens on.
const loopback = "127.0.0.1"

// address joins a port to the loopback address.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// freePort asks the kernel for a free port. Another process may take it before it is
// used; that shows in the component's log, and the component is started again.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// requirePort checks that a port the user asked for is free; zero means that any
// will do.
func requirePort(port int, flag string) error {
	if port == 0 {
		return nil
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return fmt.Errorf("port %d is taken by another process: choose another one with %s, "+
			"or leave it out and a free one is found", port, flag)
	}
	return listener.Close()
}

// saysPortTaken finds in a log that the component could not listen on its port.
func saysPortTaken(log string) bool {
	return strings.Contains(log, "address already in use")
}
