import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { seedSigner, toBase64, toUtf8 } from '@chancery/protocol'
import { afterEach, expect, it } from 'vitest'
import { SignatureChecks } from './signature-checks.ts'
import type { SignedClaim } from './signature-checks.ts'

const warnings: string[] = []
const checks = new SignatureChecks({ warn: (event) => void warnings.push(event) })
afterEach(() => {
  warnings.length = 0
})

async function makeClaims(count: number): Promise<SignedClaim[]> {
  const signer = await seedSigner('executor', randomBytes(32).toString('base64'))
  const claims: SignedClaim[] = []
  for (let at = 0; at < count; at += 1) {
    const sig = toBase64(await signer.sign(toUtf8(`claim ${at}`)))
    claims.push({ key: signer.publicKey, signed: at % 3 === 0 ? `claim ${at} ü` : `claim ${at}`, sig })
  }
  return claims
}

it('gives each claim its own verdict, for few claims and for more than one batch', async () => {
  for (const count of [1, 7, 250]) {
    const claims = await makeClaims(count)
    const verdicts = await Promise.all(claims.map((claim) => checks.verify(claim)))
    expect(verdicts).toEqual(claims.map((_, at) => at % 3 !== 0))
  }
  expect(warnings).toEqual([])
})

it.runIf(availableParallelism() > 1)('verifies on the event loop when the thread cannot', async () => {
  const claims = await makeClaims(20)
  // A function cannot be sent to another thread.
  const odd = claims.map((claim) => ({ ...claim, more: () => undefined }))
  expect(await Promise.all(odd.map((claim) => checks.verify(claim)))).toEqual(claims.map((_, at) => at % 3 !== 0))
  expect(warnings.length).toBeGreaterThan(0)
})

it('verifies on the event loop after it was closed', async () => {
  await checks.close()
  const claims = await makeClaims(20)
  expect(await Promise.all(claims.map((claim) => checks.verify(claim)))).toEqual(claims.map((_, at) => at % 3 !== 0))
})
