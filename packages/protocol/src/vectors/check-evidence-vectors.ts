import type * as Protocol from '../index.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import type { CheckResult } from './cases.ts'

/** The shape of `evidence.json`: golden values taken from the text of protocol/trust-operations, never our own output. */
export interface EvidenceVectors {
  readonly source: string
  readonly keys: readonly {
    readonly name: string
    readonly use: string
    readonly seed_hex: string
    readonly public_key: string
  }[]
  readonly examples: readonly EvidenceExample[]
}

export interface EvidenceExample {
  readonly id: string
  readonly title: string
  readonly sha256: string
  readonly key_id: string | null
  readonly signature: string | null
  /** The exact canonical text that is hashed or signed. */
  readonly bytes: string
}

/** The part of the public interface these vectors exercise. */
export type EvidenceUnderTest = Pick<
  typeof Protocol,
  | 'AnchorChecker'
  | 'StoreChecker'
  | 'anchorDigest'
  | 'canonicalJson'
  | 'chainEntry'
  | 'decisionSubject'
  | 'draftStoreAnchor'
  | 'executionEvidenceForm'
  | 'executionSubject'
  | 'readJson'
  | 'readReceived'
  | 'readSubmittedEvidence'
  | 'recordDigest'
  | 'retentionCheckpointForm'
  | 'sha256Hex'
  | 'storeAnchorForm'
  | 'verifyReceived'
>

/** Every worked example of the evidence store against the given protocol; runs in Node, in browsers and in consumers. */
export async function checkEvidenceVectors(
  vectors: EvidenceVectors,
  protocol: EvidenceUnderTest,
): Promise<CheckResult> {
  const failures: string[] = []
  let passed = 0
  const expect = (name: string, isTrue: boolean): void => {
    if (isTrue) passed += 1
    else failures.push(name)
  }
  const store = openEvidenceStore(vectors, protocol)
  for (const { id, bytes, sha256 } of vectors.examples) {
    expect(`${id}: the text is canonical`, protocol.canonicalJson(protocol.readJson(bytes)) === bytes)
    expect(`${id}: the digest`, protocol.sha256Hex(bytes) === sha256)
  }
  await checkSigned(store, expect)
  checkChain(store, expect)
  await checkRun(store, expect)
  return { passed, failures }
}

type Expect = (name: string, isTrue: boolean) => void
type EvidenceStoreHandle = ReturnType<typeof openEvidenceStore>

function openEvidenceStore(vectors: EvidenceVectors, protocol: EvidenceUnderTest) {
  const find = (id: string) => {
    const found = vectors.examples.find((each) => each.id === id)
    if (found === undefined) throw new Error(`no example ${id}`)
    return found
  }
  const key = (name: string): string => vectors.keys.find((each) => each.name === name)?.public_key ?? ''
  const body = (id: string): JsonObject => protocol.readJson(find(id).bytes) as JsonObject
  /** The record of an example as it would be received. */
  const received = (id: string): JsonObject => {
    const { key_id, signature } = find(id)
    return { ...body(id), signature: { key_id: key_id ?? '', sig: signature ?? '' } }
  }
  return { protocol, find, key, body, received }
}

async function checkSigned({ protocol, key, received, find }: EvidenceStoreHandle, expect: Expect): Promise<void> {
  const forms = {
    E14: protocol.executionEvidenceForm,
    E15: protocol.executionEvidenceForm,
    E19: protocol.retentionCheckpointForm,
    E20: protocol.storeAnchorForm,
    E21: protocol.storeAnchorForm,
  } as const
  for (const [id, form] of Object.entries(forms)) {
    const signer = form === protocol.executionEvidenceForm ? 'executor' : 'na'
    const record = protocol.readReceived<unknown>(form, received(id))
    for (const name of ['na', 'partner', 'executor', 'validator']) {
      const { ok } = await protocol.verifyReceived(record, [key(name)])
      expect(`${id}: verifies under ${signer} alone, asked with ${name}`, ok === (name === signer))
    }
  }
  for (const id of ['E14', 'E15'])
    expect(
      `${id}: record digest`,
      protocol.recordDigest(protocol.readSubmittedEvidence(received(id))) === find(id).sha256,
    )
  const anchors = ['E20', 'E21'].map((id) => protocol.readReceived(protocol.storeAnchorForm, received(id)).record)
  for (const [at, id] of ['E20', 'E21'].entries()) {
    const [anchor, previous] = [anchors[at], at === 0 ? undefined : anchors[0]]
    if (anchor === undefined) continue
    expect(`${id}: anchor digest`, protocol.anchorDigest(anchor) === find(id).sha256)
    expect(
      `${id}: drafted alike`,
      protocol.anchorDigest(protocol.draftStoreAnchor(anchor, previous)) === find(id).sha256,
    )
  }
}

/** The two entries and the export line, built from their parts. */
function chain({ protocol, body, received }: EvidenceStoreHandle) {
  const context = body('E6')
  const payload = protocol.canonicalJson({ context, decision: received('E11') })
  const decision = received('E11') as unknown as Parameters<typeof protocol.decisionSubject>[0]['decision']
  const parts = context as unknown as Parameters<typeof protocol.decisionSubject>[0]['context']
  const subject = protocol.decisionSubject({ decision, context: parts })
  const empty = { store_sequence: 0, entry_digest: null }
  const first = protocol.chainEntry(empty, subject, payload, '2027-03-04T05:06:07.400000Z')
  const { record } = protocol.readSubmittedEvidence(received('E14'))
  const second = protocol.chainEntry(
    { store_sequence: 1, entry_digest: first.entry_digest },
    protocol.executionSubject(record, subject),
    protocol.canonicalJson(received('E14')),
    '2027-03-04T05:07:01Z',
  )
  return [first, second] as const
}

function checkChain(store: EvidenceStoreHandle, expect: Expect): void {
  const [first, second] = chain(store)
  const { find, protocol } = store
  expect('E16: entry', protocol.canonicalJson(first.entry) === find('E16').bytes)
  expect('E16: entry digest', first.entry_digest === find('E16').sha256)
  expect('E17: entry', protocol.canonicalJson(second.entry) === find('E17').bytes)
  expect('E17: entry digest', second.entry_digest === find('E17').sha256)
  expect('E18: export line', second.line === find('E18').bytes)
}

/** The whole run under its anchors: nothing is found, and one changed character is. */
async function checkRun(store: EvidenceStoreHandle, expect: Expect): Promise<void> {
  const { protocol, key, received } = store
  const anchors = ['E20', 'E21'].map((id) => protocol.readReceived(protocol.storeAnchorForm, received(id)).record)
  const keys = {
    authority: [key('na')],
    executor: (id: string) =>
      id === 'rotator-key-1' ? { public_key: key('executor'), executor_sovereign_id: 'rotator' } : undefined,
  }
  const run = async (lines: readonly string[]): Promise<string> => {
    const checker = new protocol.StoreChecker({
      keys,
      scope: 'store',
      anchors: await protocol.AnchorChecker.open(anchors, [key('na')], 'acme-net'),
    })
    for (const line of lines) await checker.add(line)
    const { failures } = await checker.finish()
    return failures.map(({ store_sequence, reason }) => `${store_sequence} ${reason}`).join(', ')
  }
  const lines = chain(store).map(({ line }) => line)
  const found = await run(lines)
  expect(`E16 to E21: a sound run, found ${found}`, found === '')
  const cut = await run(lines.slice(0, 1))
  expect(`E16 alone: the second anchor misses its entry, found ${cut}`, cut === '2 export_ends_before_anchor')
  const forged = await run(lines.map((line) => line.replace('"secret_version":"7"', '"secret_version":"8"')))
  expect(
    `a changed parameter is found at its entry, found ${forged}`,
    forged === '2 payload_digest_mismatch, 2 invalid_signature',
  )
}
