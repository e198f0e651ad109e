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

// saysPortTaken finds in a log that the component could not listen on its port.
func saysPortTaken(log string) bool {
	return strings.Contains(log, "address already in use")
}
