import { sign } from 'node:crypto'
import { workerData } from 'node:worker_threads'
import { Transfer, serveCalls } from '@chancery/service-kit/threads'
import type { MovedMessage, SigningThreadData } from './key-providers.ts'

const { key } = workerData as SigningThreadData

/** Signs a message, and moves it back. */
serveCalls({
  sign: ({ bytes, length }: MovedMessage) =>
    new Transfer({ bytes, sig: Uint8Array.from(sign(null, bytes.subarray(0, length), key)) }, [bytes.buffer]),
})
