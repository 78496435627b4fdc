import type * as Protocol from '../index.ts'
import { differs, exampleOf, flip, keyOf, runCases } from './cases.ts'
import type { Case, CheckResult, KeyVector, TrustExample, TrustVectors } from './cases.ts'
import { agreementCases, digestCases } from './trust-agreement-cases.ts'
import { consensusCases, usageCases } from './trust-usage-cases.ts'

const CAPABILITIES = ['ledger.read', 'ledger.append', 'ledger.close']
const NOW = '2027-03-04T05:06:07Z'

/** E22 to E24: the tree, a proof out of it and its nullifier, made again from what the examples say. */
function disclosureCases(vectors: TrustVectors, protocol: typeof Protocol): Case[] {
  const bodyOf = (name: string): Protocol.JsonObject =>
    protocol.readJson(exampleOf(vectors, name).bytes) as Protocol.JsonObject
  const nodeOf = (start: string): string => vectors.tree.find(({ node }) => node.startsWith(start))?.sha256 ?? ''
  const now = protocol.instantOf(NOW)
  return [
    {
      name: 'E22 tree: leaves, padding, nodes and root',
      run: () => {
        const tree = protocol.buildMerkleTree(CAPABILITIES)
        const [first, last] = [tree.pathOf('ledger.append'), tree.pathOf('ledger.read')]
        const seen = [
          protocol.merkleLeaf('ledger.append'),
          protocol.merkleLeaf('ledger.close'),
          protocol.merkleLeaf('ledger.read'),
          last?.[0]?.sibling_hash,
          last?.[1]?.sibling_hash,
          first?.[1]?.sibling_hash,
          tree.root,
        ]
        return differs(seen.join(' '), vectors.tree.map(({ sha256 }) => sha256).join(' '))
      },
    },
    {
      name: 'E23 is the proof out of E22 and holds under the key of its issuer',
      run: async () => {
        const { sig, key_id } = exampleOf(vectors, 'E22').signatures[0] ?? { sig: '', key_id: '' }
        const commitment = protocol.readCapabilityCommitment({ ...bodyOf('E22'), signature: { key_id, sig } })
        const proof = protocol.proveMembership({
          capability: 'ledger.read',
          capabilities: CAPABILITIES,
          commitment: commitment.record,
          proof_id: '0b6c1c52-5a0e-4b53-9a53-0d6c0f5f0081',
          prover_sovereign_id: 'bolt-net',
          now,
        })
        if (proof === undefined) return 'nothing could be proved'
        const verdict = await protocol.verifyDisclosure(proof, commitment, [keyOf(vectors.keys, 'na').public_key])
        return (
          differs(protocol.canonicalJson(protocol.asJson(proof)), exampleOf(vectors, 'E23').bytes) ??
          differs(protocol.merkleRootOf(proof.leaf_hash, proof.merkle_path), nodeOf('root')) ??
          differs(JSON.stringify(verdict), `{"ok":true,"warning":"${protocol.UNSALTED}"}`)
        )
      },
    },
    {
      name: 'E24 is drafted with a life of a minute',
      run: () => {
        const { signature: _none, ...draft } = protocol.draftCapabilityNullifier({
          nullifier_id: '0b6c1c52-5a0e-4b53-9a53-0d6c0f5f0082',
          proof_id: '0b6c1c52-5a0e-4b53-9a53-0d6c0f5f0081',
          nonce: '000102030405060708090a0b0c0d0e0f',
          prover_sovereign_id: 'acme-net',
          now,
        })
        return differs(protocol.canonicalJson(draft), exampleOf(vectors, 'E24').bytes)
      },
    },
  ]
}

/** Every worked example against the given protocol; the same function runs in Node, in browsers and in consumers. */
export function checkTrustVectors(vectors: TrustVectors, protocol: typeof Protocol): Promise<CheckResult> {
  return runCases([
    ...vectors.examples.flatMap((example) => byteCases(example, protocol)),
    ...vectors.examples.flatMap((example) => signatureCases(example, vectors.keys, protocol)),
    ...Object.entries(formsOf(protocol)).map(([name, form]) =>
      formCase(exampleOf(vectors, name), form, vectors.keys, protocol),
    ),
    ...agreementCases(vectors, protocol),
    ...digestCases(vectors, protocol),
    ...disclosureCases(vectors, protocol),
    ...consensusCases(vectors, protocol),
    ...usageCases(vectors, protocol),
  ])
}

/** Examples that are one signed record each, by the form that reads it. */
function formsOf(protocol: typeof Protocol): Readonly<Record<string, Protocol.RecordForm<object>>> {
  return {
    E2: protocol.trustEvidenceForm,
    E3: protocol.capabilityOfferForm,
    E10: protocol.boundaryDecisionForm,
    E11: protocol.boundaryDecisionForm,
    E12: protocol.freshnessProofForm,
    E13: protocol.justificationForm,
    E22: protocol.commitmentForm,
    E24: protocol.nullifierForm,
    E25: protocol.voteForm,
    E27: protocol.consensusForm,
    E28: protocol.licensePolicyForm,
    E29: protocol.accessIntentForm,
  }
}

function byteCases({ example, name, sha256, bytes }: TrustExample, protocol: typeof Protocol): Case[] {
  return [
    {
      name: `${example} ${name}: the text is its own canonical form`,
      run: () => differs(protocol.canonicalJson(protocol.readJson(bytes)), bytes),
    },
    {
      name: `${example} ${name}: SHA-256`,
      run: () =>
        differs(protocol.sha256Hex(bytes), sha256) ?? differs(protocol.digestOf(protocol.readJson(bytes)), sha256),
    },
  ]
}

function signatureCases(
  { example, bytes, signatures }: TrustExample,
  keys: readonly KeyVector[],
  protocol: typeof Protocol,
): Case[] {
  const message = protocol.toUtf8(bytes)
  return signatures.map(({ key_id, signer, sig }) => ({
    name: `${example} signature of ${key_id}`,
    run: async () => {
      const key = keyOf(keys, signer)
      const own = await protocol.seedSigner(key_id, key.seed)
      const problem = differs(own.publicKey, key.public_key) ?? differs(protocol.toBase64(await own.sign(message)), sig)
      if (problem !== undefined) return problem
      if (!(await protocol.verifySignature(key.public_key, message, sig))) return 'refused'
      for (const at of [0, message.length - 1])
        if (await protocol.verifySignature(key.public_key, flip(message, at), sig)) return 'a changed text verified'
      for (const other of keys)
        if (other.name !== signer && (await protocol.verifySignature(other.public_key, message, sig)))
          return `verified under ${other.name}`
      return undefined
    },
  }))
}

/** Read, signed again and verified through the form: nothing is lost, and only the signer's key is accepted. */
function formCase(
  { example, name, bytes, sha256, signatures }: TrustExample,
  form: Protocol.RecordForm<object>,
  keys: readonly KeyVector[],
  protocol: typeof Protocol,
): Case {
  return {
    name: `${example} ${name}: the record`,
    run: async () => {
      const [signature] = signatures
      if (signature === undefined) return 'the example has no signature'
      const { seed, public_key } = keyOf(keys, signature.signer)
      const draft = protocol.readReceived(form, protocol.readJson(bytes))
      const signer = await protocol.seedSigner('another label', seed)
      const sealed = await protocol.signForm(form, draft.record, signer, signature.key_id)
      const received = protocol.readReceived(form, protocol.readJson(protocol.canonicalJson(protocol.asJson(sealed))))
      const strangers = keys.map((key) => key.public_key).filter((key) => key !== public_key)
      const foreign = await protocol.verifyReceived(received, strangers)
      const [held] = protocol.signaturesOf(received)
      return (
        differs(protocol.receivedDigest(draft), sha256) ??
        differs(protocol.receivedDigest(received), sha256) ??
        differs(`${held?.key_id} ${held?.sig}`, `${signature.key_id} ${signature.sig}`) ??
        differs(JSON.stringify(await protocol.verifyReceived(received, [public_key])), '{"ok":true}') ??
        differs(JSON.stringify(foreign), '{"ok":false,"reason":"invalid_signature"}')
      )
    },
  }
}
