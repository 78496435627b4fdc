import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findSodium } from './platform-node.ts'

const SIGN = join(import.meta.dirname, 'platform-node.ts')
/** Signs and verifies with the library that a new process chooses. Two libraries give the same signature. */
const SCRIPT = `
const { ed25519 } = await import(${JSON.stringify(SIGN)})
const signer = await ed25519.signer(new Uint8Array(32).fill(1))
const message = new TextEncoder().encode('message')
const signature = await signer.sign(message)
const isGood = await ed25519.verify(signer.publicKey, message, signature)
const isBad = await ed25519.verify(signer.publicKey, message, new Uint8Array(64))
console.log(JSON.stringify([ed25519.name, Buffer.from(signature).toString('hex'), isGood, isBad]))
`
function inNewProcess(native: string): unknown {
  const env = { ...process.env, CHANCERY_NATIVE: native }
  const args = ['--conditions=development', '--input-type=module', '-e', SCRIPT]
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' }))
}

it('uses node:crypto with CHANCERY_NATIVE=off, also where libsodium is installed, which makes the same signature', () => {
  const [name, signature, ...verified] = inNewProcess('off') as unknown[]
  expect([name, verified]).toEqual(['node:crypto', [true, false]])
  if (findSodium() !== undefined) expect(inNewProcess('')).toEqual(['libsodium', signature, true, false])
})
