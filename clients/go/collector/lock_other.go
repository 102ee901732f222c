//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package collector

import "errors"

func lock(string) (func(), error) {
	return nil, errors.New("there are no locks for files on this system")
}
