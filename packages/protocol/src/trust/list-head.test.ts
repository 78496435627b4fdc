import { expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { FormError } from '../reading/schema.ts'
import { signList } from '../signing/verify-any.ts'
import { readPublicKey, seedSigner } from '../signing/keys.ts'
import { readListHeadHeader, writeListHeadHeader } from './list-head.ts'
import { readRevocationList } from '../artifacts/crl.ts'
import { LIST } from './worked-records.suite.ts'

const signer = await seedSigner('na-main', toBase64(new Uint8Array(32).fill(0x11)))
const outsider = await seedSigner('na-main', toBase64(new Uint8Array(32).fill(0x33)))
const anchors = new Map([['na-main', readPublicKey(signer.publicKey) ?? new Uint8Array()]])
const DRAFT = {
  list_id: 'crl-9',
  list_sequence: 9,
  list_bytes: 17_700_000,
  list_entries: 115_000,
  issued_at: '2026-03-02T00:00:00Z',
  next_update: '2026-03-03T00:00:00Z',
  issuer: 'na-main',
}

it('reads back the head that the pinned key signed', async () => {
  const head = await signList(DRAFT, signer)
  expect(await readListHeadHeader(writeListHeadHeader(writeJson(head)), 'na-main', anchors)).toEqual(head)
})

it.each([
  ['signed by an unknown key', async () => writeJson(await signList(DRAFT, outsider))],
  ['changed', async () => writeJson({ ...(await signList(DRAFT, signer)), list_sequence: 10 })],
  ['of another issuer', async () => writeJson(await signList({ ...DRAFT, issuer: 'na-other' }, signer))],
  ['with a further member', async () => writeJson(await signList({ ...DRAFT, note: 'x' }, signer))],
  ['without a signature', async () => writeJson({ ...DRAFT, signatures: [] })],
  ['that is a list', async () => writeJson(LIST)],
  ['that is no JSON', async () => '{'],
])('refuses a head %s', async (_what, text) => {
  expect(await readListHeadHeader(writeListHeadHeader(await text()), 'na-main', anchors)).toBeUndefined()
})

it('refuses what is no base64, and what is too long', async () => {
  for (const value of ['', '%', 'A'.repeat(4100)])
    expect(await readListHeadHeader(value, 'na-main', anchors)).toBeUndefined()
})

it('is no list', async () => {
  const head = await signList(DRAFT, signer)
  expect(() => readRevocationList(head)).toThrow(FormError)
})
