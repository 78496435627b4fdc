import { serveCalls } from '@chancery/service-kit/threads'

// A thread that never finishes, for signature-checks.test.ts.
serveCalls({ verify: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) })
