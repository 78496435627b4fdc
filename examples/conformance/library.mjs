// The library of Chancery as the program under test. Run it with:
// npx chancery-conformance --complete -- node examples/conformance/library.mjs
import { createInterface } from 'node:readline'
import * as protocol from '@chancery/protocol'
import { MemoryNonceStore, RelyingParty, verifyDecision, verifyRequest } from '@chancery/sdk/verify'

const { canonicalJson, digestOf, readInstant, readJson, readJsonBytes, sha256Hex, toUtf8, writeInstant } = protocol

const bytesOf = ({ text, hex }) => (hex === undefined ? toUtf8(text) : Uint8Array.from(Buffer.from(hex, 'hex')))

const readGate = ({ type, config, context, attestation }) => {
  const gate = protocol.GATE_TYPES.get(type).prepare(readJson(config))
  return gate({ context: readJson(context), attestation: readJson(attestation) })
}

const openParty = ({ network, anchors, crl }) => RelyingParty.open({ network, anchors, crl: readJson(crl) })

const OPERATIONS = {
  'read-json': (input) => {
    try {
      return { canonical: canonicalJson(readJsonBytes(bytesOf(input))) }
    } catch (error) {
      if (error instanceof protocol.JsonError) return { refused: true }
      throw error
    }
  },
  'read-time': ({ text }) => {
    const instant = readInstant(text)
    return instant === undefined ? { refused: true } : { micros: String(instant), written: writeInstant(instant) }
  },
  sha256: (input) => ({ sha256: sha256Hex(bytesOf(input)) }),
  digest: ({ text }) => ({ sha256: digestOf(readJson(text)) }),
  'public-key': async ({ seed }) => ({ public_key: (await protocol.seedSigner('any', seed)).publicKey }),
  sign: async ({ seed, text }) => {
    const signer = await protocol.seedSigner('any', seed)
    return { signature: protocol.toBase64(await signer.sign(toUtf8(text))) }
  },
  verify: async ({ public_key, signature, ...message }) => ({
    valid: await protocol.verifySignature(public_key, bytesOf(message), signature),
  }),
  'verify-record': async ({ record, keys }) => {
    const { signatures, signature, ...body } = readJson(record)
    const list = signatures ?? [signature]
    return { valid: await protocol.verifyList({ ...body, signatures: list }, keys) }
  },
  'merkle-root': ({ values }) => ({ root: protocol.buildMerkleTree(values).root }),
  gate: (input) => ({ outcome: readGate(input).outcome }),
  'gate-condition': (input) => ({ condition: canonicalJson(readGate(input).condition) }),
  'verify-certificate': async ({ certificate, now, ...pins }) => {
    const { decision } = await (await openParty(pins)).evaluate(readJson(certificate), readInstant(now))
    const { trusted, reasons } = decision
    return { trusted, reasons }
  },
  'verify-decision': async ({ decision, keys, now }) => {
    const verdict = await verifyDecision(readJson(decision), { keys, at: readInstant(now) })
    if (verdict.allowed) return { outcome: 'allowed', reason: 'authorized' }
    if (verdict.valid) return { outcome: 'denied', reason: `unauthorized_${verdict.reason}` }
    return { outcome: 'invalid', reason: verdict.reason }
  },
  'verify-request': async ({ method, target, body, headers, audience, now, ...pins }) => {
    const party = await openParty(pins)
    const field = (name) => (headers[name] === undefined ? [] : [headers[name]])
    const policy = {
      audience,
      evaluate: (certificate, at) => party.evaluate(certificate, at),
      nonces: new MemoryNonceStore(),
      at: readInstant(now),
    }
    const verdict = await verifyRequest({ method, target, field, body: toUtf8(body) }, policy)
    if (!verdict.valid) return { accepted: false, reason: verdict.reason }
    return { accepted: true, cert_id: verdict.caller.certificate.cert_id }
  },
  'verify-node-proof': async ({ body, action, audience, now }) => {
    const verdict = await protocol.verifyNodeProof(readJson(body), { action, audience, now: readInstant(now) })
    return { valid: verdict.ok, reason: verdict.ok ? null : verdict.reason }
  },
  'verify-evidence': async ({ lines, anchors, authority_keys, executor_keys, network }) => {
    const read = anchors.map((text) => protocol.readReceived(protocol.storeAnchorForm, readJson(text)).record)
    const checker = new protocol.StoreChecker({
      keys: { authority: authority_keys, executor: (id) => executor_keys[id] },
      scope: 'store',
      anchors: await protocol.AnchorChecker.open(read, authority_keys, network),
    })
    for (const line of lines) await checker.add(line)
    const { failures } = await checker.finish()
    return { failures: failures.map(({ store_sequence, reason }) => ({ store_sequence, reason })) }
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, operation, input } = JSON.parse(line)
  const run = OPERATIONS[operation]
  const answer = run === undefined ? { id, unsupported: true } : { id, output: await run(input) }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
