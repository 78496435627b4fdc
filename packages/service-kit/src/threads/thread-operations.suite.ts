import { serveCalls } from './serve-calls.ts'

// The thread of thread.test.ts.
serveCalls(
  {
    echo: (value: unknown) => value,
    fail: () => {
      throw new RangeError('of the test')
    },
    hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  },
  'concurrent',
)
