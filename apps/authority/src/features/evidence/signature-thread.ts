import { toUtf8, verifySignature } from '@chancery/protocol'
import { serveCalls } from '@chancery/service-kit/threads'
import type { SignedClaim } from './signature-checks.ts'

/** Verifies whole batches, so that the event loop of the authority does not wait for the arithmetic. */
serveCalls({
  verify: (claims: readonly SignedClaim[]) =>
    Promise.all(claims.map(({ key, signed, sig }) => verifySignature(key, toUtf8(signed), sig))),
})
