import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { seedSigner, toBase64, toUtf8 } from '@chancery/protocol'
import { Thread } from '@chancery/service-kit'
import { afterEach, expect, it } from 'vitest'
import { SignatureChecks, type SignedClaim } from './signature-checks.ts'

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

it.runIf(availableParallelism() > 1)('ends a thread that hangs, verifies meanwhile, and replaces it', async () => {
  const threads: Thread[] = []
  const openThread = (): Thread => {
    // The first one hangs.
    const file = threads.length === 0 ? './hanging-thread.suite' : './signature-thread'
    const thread = new Thread(file, import.meta.url, { env: {}, limitMs: threads.length === 0 ? 200 : 20_000 })
    threads.push(thread)
    return thread
  }
  const replaced = new SignatureChecks({ warn: (event) => void warnings.push(event) }, { openThread, pauseMs: 300 })
  const claims = await makeClaims(20)
  const expected = claims.map((_, at) => at % 3 !== 0)
  const verify = (): Promise<boolean[]> => Promise.all(claims.map((claim) => replaced.verify(claim)))
  expect(await verify()).toEqual(expected)
  expect([warnings.length, threads.length, threads[0]?.hasEnded]).toEqual([1, 1, true])
  // During the pause without a thread.
  expect(await verify()).toEqual(expected)
  expect(threads).toHaveLength(1)
  await new Promise((done) => setTimeout(done, 400))
  expect(await verify()).toEqual(expected)
  expect([warnings.length, threads.length, threads[1]?.hasEnded]).toEqual([1, 2, false])
  await replaced.close()
})

it('verifies on the event loop after it was closed', async () => {
  await checks.close()
  const claims = await makeClaims(20)
  expect(await Promise.all(claims.map((claim) => checks.verify(claim)))).toEqual(claims.map((_, at) => at % 3 !== 0))
})
