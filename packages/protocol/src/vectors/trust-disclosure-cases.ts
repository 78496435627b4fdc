import type * as Protocol from '../index.ts'
import { type Case, differs, keyOf } from './cases.ts'
import { type TrustVectors, exampleOf } from './trust-vectors.ts'

const CAPABILITIES = ['ledger.read', 'ledger.append', 'ledger.close']
const NOW = '2027-03-04T05:06:07Z'

/** E22 to E24: the tree, a proof out of it and its nullifier, made again from what the examples say. */
export function disclosureCases(vectors: TrustVectors, protocol: typeof Protocol): Case[] {
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
