import { type JsonObject, canonicalJson, readJson } from '@chancery/protocol'
import { WEAK_POINTS, WEAK_SCALARS } from '../../packages/protocol/src/vectors/weak-keys.ts'
import type { CoreVectors, TrustVectors } from '../../packages/protocol/src/vectors/cases.ts'
import type { EvidenceVectors } from '../../packages/protocol/src/vectors/check-evidence-vectors.ts'
import type { PolicyVectors } from '../../packages/protocol/src/vectors/check-policy-vectors.ts'
import coreFile from '../../packages/protocol/src/vectors/core.json' with { type: 'json' }
import evidenceFile from '../../packages/protocol/src/vectors/evidence.json' with { type: 'json' }
import policyFile from '../../packages/protocol/src/vectors/policies.json' with { type: 'json' }
import trustFile from '../../packages/protocol/src/vectors/trust.json' with { type: 'json' }
import type { CaseFile, ConformanceCase, Json } from '../../packages/vectors/src/run-cases.ts'
import { verdictCases } from './verdict-cases.ts'

/**
 * The files of packages/vectors/cases, written from the golden values of the protocol pages. No expected value is
 * computed by our code: digests and signatures are the printed ones, and a changed text, signature or key is refused.
 */

const core: CoreVectors = coreFile
const trust: TrustVectors = trustFile
const evidence: EvidenceVectors = evidenceFile
const policies: PolicyVectors = policyFile

export const CONFORMANCE_FILES: Readonly<Record<string, () => string>> = {
  'canonical.json': () => write('record canonical', 'docs/protocol/core.md, sections 1.1 to 1.4', canonicalCases()),
  'signatures.json': () => write('signatures', 'docs/protocol/core.md, sections 1.5 to 1.7', signatureCases()),
  'records.json': () =>
    write(
      'records',
      'docs/protocol/core.md and the worked examples of docs/protocol/trust-operations.md',
      recordCases(),
    ),
  'policies.json': () => write('policies', 'docs/protocol/trust-operations.md, section 5.8', policyCases()),
  'verdicts.json': () =>
    write(
      'verdicts',
      'docs/protocol: core.md 5.1 and 6, gateway.md 8, trust-operations.md 4.10, request-proof.md 3',
      verdictCases(),
    ),
  'evidence.json': () => write('evidence', 'docs/protocol/trust-operations.md, section 6', evidenceCases()),
}

function write(group: string, source: string, cases: readonly ConformanceCase[]): string {
  const ids = new Set(cases.map(({ id }) => id))
  if (ids.size !== cases.length) throw new Error(`an id of ${group} occurs twice`)
  const { cases: _cases, ...head }: CaseFile = { format: 'chancery-conformance', version: 1, group, source, cases }
  // One case on a line: a change shows as one line.
  const lines = cases.map((each) => `    ${JSON.stringify(each)}`)
  return `${JSON.stringify(head, undefined, 2).slice(0, -2)},\n  "cases": [\n${lines.join(',\n')}\n  ]\n}\n`
}

type Values = { readonly [name: string]: Json }

function one(id: string, operation: string, input: Values, expected: Values): ConformanceCase {
  return { id, operation, input, expected }
}

function canonicalCases(): readonly ConformanceCase[] {
  const read = (id: string, input: Values, expected: Values): ConformanceCase => one(id, 'read-json', input, expected)
  const { numbers, objects, accepted_texts, refused_texts, timestamps, digests, signed } = core
  const json = [...digests, ...signed.filter(({ kind }) => kind !== 'envelope')]
  return [
    ...numbers.map(({ token, canonical }) => read(`number ${token}`, { text: token }, { canonical })),
    ...objects.map(({ input, canonical }, at) => read(`object ${at + 1}`, { text: input }, { canonical })),
    ...accepted_texts.map(({ name, text, canonical }) => read(`reads ${name}`, { text }, { canonical })),
    ...refused_texts.map(({ rule, name, text, hex }) =>
      read(`rule ${rule} refuses ${name}`, hex === undefined ? { text: text ?? '' } : { hex }, { refused: true }),
    ),
    ...timestamps.valid.map(({ text, micros, written }) =>
      one(`time ${text}`, 'read-time', { text }, { micros, written }),
    ),
    ...timestamps.invalid.map((text) =>
      one(`refuses time ${JSON.stringify(text)}`, 'read-time', { text }, { refused: true }),
    ),
    ...json.map(({ name, bytes, sha256 }) => one(`digest of ${name}`, 'digest', { text: bytes }, { sha256 })),
    ...signed.map(({ name, bytes, sha256 }) => one(`SHA-256 of ${name}`, 'sha256', { text: bytes }, { sha256 })),
    ...trust.examples.map(({ example, name, bytes, sha256 }) =>
      one(`digest of ${example} ${name}`, 'digest', { text: bytes }, { sha256 }),
    ),
  ]
}

function signatureCases(): readonly ConformanceCase[] {
  const keys = core.keys.map(({ name, seed, public_key }) =>
    one(`public key of ${name}`, 'public-key', { seed }, { public_key }),
  )
  const signed = core.signed.flatMap(({ name, signer, bytes: text, signature }) => {
    const { seed, public_key } = keyNamed(core, signer)
    const verify = (id: string, input: Values, valid: boolean): ConformanceCase =>
      one(`${name}: ${id}`, 'verify', { public_key, text, signature, ...input }, { valid })
    const other = core.keys.find((key) => key.public_key !== public_key)?.public_key ?? ''
    return [
      one(`${name}: signed`, 'sign', { seed, text }, { signature }),
      verify('verifies', {}, true),
      verify('with one more character', { text: `${text} ` }, false),
      verify('without its last character', { text: text.slice(0, -1) }, false),
      verify('under another key', { public_key: other }, false),
      ...[0, 31, 32, 63].map((at) =>
        verify(`byte ${at} of the signature changed`, { signature: changeByte(signature, at) }, false),
      ),
    ]
  })
  return [...keys, ...signed, ...weakKeyCases()]
}

/** Keys and values of R of small order: no key signed anything. */
function weakKeyCases(): readonly ConformanceCase[] {
  const cases: ConformanceCase[] = []
  for (const [a, key] of WEAK_POINTS.entries())
    for (const [r, point] of WEAK_POINTS.entries())
      for (const [s, scalar] of WEAK_SCALARS.entries())
        for (const number of [1, 2]) {
          const signature = toBase64(point + scalar)
          const input = { public_key: toBase64(key), text: `unsigned message ${number}`, signature }
          cases.push(one(`weak key ${a}, R ${r}, S ${s}, message ${number}`, 'verify', input, { valid: false }))
        }
  return cases
}

function recordCases(): readonly ConformanceCase[] {
  const records = core.signed
    .filter(({ kind }) => kind === 'record')
    .flatMap(({ name, bytes, signer, key_id, signature }) => {
      const signatures = [{ key_id: key_id ?? '', sig: signature }]
      return verifyRecord(name, bytes, { signatures }, { keys: core.keys, signer })
    })
  const examples = trust.examples
    // One body of two records (E4) has rules that are its alone.
    .filter(({ signatures }) => signatures.length === 1)
    .flatMap(({ example, name, bytes, signatures: [signature] }) => {
      const { key_id = '', sig = '', signer = '' } = signature ?? {}
      return verifyRecord(`${example} ${name}`, bytes, { signature: { key_id, sig } }, { keys: trust.keys, signer })
    })
  const root = trust.tree.find(({ node }) => node.startsWith('root'))?.sha256 ?? ''
  const values = ['ledger.read', 'ledger.append', 'ledger.close']
  return [
    ...records,
    ...examples,
    one('E22 tree', 'merkle-root', { values }, { root }),
    one('E22 tree in another order', 'merkle-root', { values: values.toReversed() }, { root }),
  ]
}

function verifyRecord(
  name: string,
  bytes: string,
  signatures: Values,
  { keys, signer }: { readonly keys: CoreVectors['keys']; readonly signer: string },
): readonly ConformanceCase[] {
  const body = readJson(bytes) as JsonObject
  const record = `${bytes.slice(0, -1)},${JSON.stringify(signatures).slice(1)}`
  const own = keys.find((key) => key.name === signer)?.public_key ?? ''
  const others = keys.map(({ public_key }) => public_key).filter((key) => key !== own)
  const ask = (id: string, text: string, accepted: readonly string[], valid: boolean): ConformanceCase =>
    one(`${name}: ${id}`, 'verify-record', { record: text, keys: accepted }, { valid })
  const member = Object.keys(body).find((each) => typeof body[each] === 'string') ?? ''
  const from = `${JSON.stringify(member)}:"`
  return [
    ask('verifies', record, [own], true),
    ask(
      'verifies with members in another order',
      `{${JSON.stringify(signatures).slice(1, -1)},${bytes.slice(1)}`,
      [own],
      true,
    ),
    ask('under the keys of others', record, others, false),
    ask('one member changed', record.replace(from, `${from}x`), [own], false),
    ask('one member added', record.replace('{', '{"added":1,'), [own], false),
  ]
}

function policyCases(): readonly ConformanceCase[] {
  const base = readJson(policies.contexts[1]?.bytes ?? '{}') as JsonObject
  const attestation = policies.attestation.bytes
  return policies.gates.flatMap(({ type, config, value, outcome, condition }, at) => {
    const request_parameters = value === undefined ? {} : { v: readJson(value) }
    const context = canonicalJson({ ...base, request_parameters })
    const input = { type, config, context, attestation }
    const id = `gate ${at + 1} ${type}`
    const read = one(id, 'gate', input, { outcome })
    return condition === undefined ? [read] : [read, one(`${id}: condition`, 'gate-condition', input, { condition })]
  })
}

function evidenceCases(): readonly ConformanceCase[] {
  const find = (id: string) => evidence.examples.find((each) => each.id === id) ?? fail(id)
  const key = (name: string): string => evidence.keys.find((each) => each.name === name)?.public_key ?? ''
  const signed = (id: string): string => {
    const { bytes, key_id, signature } = find(id)
    return canonicalJson({ ...(readJson(bytes) as JsonObject), signature: { key_id, sig: signature } })
  }
  const [decision, execution] = [find('E16'), find('E18').bytes]
  const payload = `{"context":${find('E6').bytes},"decision":${signed('E11')}}`
  const end = execution.slice(execution.lastIndexOf(',"schema":'))
  const first = `{"entry":${decision.bytes},"entry_digest":"${decision.sha256}","payload":${payload}${end}`
  const common = {
    anchors: [signed('E20'), signed('E21')],
    authority_keys: [key('na')],
    executor_keys: { 'rotator-key-1': { public_key: key('executor'), executor_sovereign_id: 'rotator' } },
    network: 'acme-net',
  }
  const ask = (id: string, lines: readonly string[], failures: readonly Values[]): ConformanceCase =>
    one(id, 'verify-evidence', { lines, ...common }, { failures })
  return [
    ...evidence.examples.map(({ id, title, bytes, sha256 }) =>
      one(`digest of ${id} ${title}`, 'digest', { text: bytes }, { sha256 }),
    ),
    ask('two entries under two anchors', [first, execution], []),
    ask('the second entry is missing', [first], [{ store_sequence: 2, reason: 'export_ends_before_anchor' }]),
    ask(
      'a parameter of the second entry is changed',
      [first, execution.replace('"secret_version":"7"', '"secret_version":"8"')],
      [
        { store_sequence: 2, reason: 'payload_digest_mismatch' },
        { store_sequence: 2, reason: 'invalid_signature' },
      ],
    ),
  ]
}

function keyNamed({ keys }: CoreVectors, name: string): CoreVectors['keys'][number] {
  return keys.find((key) => key.name === name) ?? fail(name)
}

function fail(name: string): never {
  throw new Error(`no value ${name}`)
}

function changeByte(base64: string, at: number): string {
  const bytes = Buffer.from(base64, 'base64')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes.toString('base64')
}

function toBase64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64')
}
