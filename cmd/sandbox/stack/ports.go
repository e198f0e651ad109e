package stack

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// loopback is the only address on which components listen.
const loopback = "127.0.0.1"

// address returns the loopback address with a port.
func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// freePort asks the kernel for a free port. If another process takes it before it is used, the component's log
// shows it, and the component is started again.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// saysPortTaken reports whether a log says that the component could not listen on its port.
func saysPortTaken(log string) bool {
	return strings.Contains(log, "address already in use")
}
