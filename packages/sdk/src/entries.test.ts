import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** What each entry exports as values: exactly this. A new name is a decision, and has a line in docs/library-names.md. */
const VERIFIERS =
  'Agent Agreement Anchor Attestation BoundaryPolicy Certificate Commitment Consensus Counter Crl DataIntent DataLicense Decision Execution Freshness Genesis Justification MembershipProof Nullifier Offer PolicyManifest RecognitionPolicy RetentionCheckpoint RevocationFeed Treaty TrustEvidence Vote'
const NAMES: Readonly<Record<string, string>> = {
  '.': 'joinNetwork createDecider createSigningFetch trustNetworks createAuthorizer createGovernor createSigner requireAllowed requireValid explainDenial isRefused verifyRecord verifyGenesis verifyCertificate verifyAttestation verifyTreaty verifyAgent verifyDecision verifyExecution readJson writeJson JsonFloat MemoryNodeStore MemoryNonceStore MemoryOutbox VERSION ChanceryError RefusedError RevokedError DeniedError NoDecisionError UnreachableError ResponseError VerificationError UsageError JoinInterruptedError EvidenceNotStoredError TokenRefusedError createDpopKey',
  './verify': `${VERIFIERS.split(' ')
    .map((kind) => `verify${kind}`)
    .join(
      ' ',
    )} verifyRecord verifyRequest verifyDecisionChain RelyingParty MemoryNonceStore requireValid readJson writeJson JsonFloat`,
  './evidence':
    'readPack verifyPack createPack writePack writePackPage explainPack replayPack readBundle verifyBundle writeBundle verifyReceipt verifyPast verifyExport verifyAnchors',
  './authority':
    'createAuthorityClient castVote readWholeFeed readFeedInParts DryRunUnsupportedError evidenceApi policyApi partnersApi signApproval',
  './gateway': 'createGatewayClient createAuthzenClient',
  './nodejs':
    'FileNodeStore FileOutbox StoreInUseError readGenesisFile readAttestationFile readSignerFile authenticate authorize',
  './express': 'authenticate authorize callerOf answerOf',
  './fastify': 'authenticate authorize callerOf answerOf',
  './hono': 'authenticate authorize',
  './web': 'authenticate authorize',
  './mcp': 'governServer HeldCalls callerOf authInfoOf toolCapability toolDigest createMcpFetch',
  './ai-sdk': 'governTools',
  './langchain': 'governed',
  './platform': 'githubToken gitlabToken kubernetesToken spiffeJwt spiffeX509 PlatformError',
  './a2a': 'signAgentCard verifyAgentCard CardFormError',
  './wimse': 'wimse signWimseRequest verifyWimse',
}

const ROOT = join(import.meta.dirname, '..', '..', '..')
const PACKAGE = join(import.meta.dirname, '..', 'package.json')
const { exports } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly development: string }>>
}

it('there are these entries, and one for the programs of this repository', () => {
  const others = ['./protocol', './compat', './internal', './dist/*.js']
  expect(Object.keys(exports).toSorted()).toEqual([...Object.keys(NAMES), ...others].toSorted())
})

it.each(Object.entries(NAMES))('%s exports these names', async (entry, names) => {
  const file = exports[entry]?.development ?? ''
  const found = (await import(join(PACKAGE, '..', file))) as object
  expect(Object.keys(found).toSorted()).toEqual(names.split(' ').toSorted())
})

it('no exported name is one of a browser or of the language', async () => {
  // The compiler has its declarations next to the program of the platform.
  const [file] = globSync('node_modules/@typescript/typescript-*/lib/lib.dom.d.ts', { cwd: ROOT })
  const folder = join(ROOT, file ?? '', '..')
  const text = ['lib.dom.d.ts', 'lib.es5.d.ts', 'lib.es2015.core.d.ts'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  )
  const globals = new Set(
    text.flatMap((each) =>
      [...each.matchAll(/^(?:declare (?:var|function|class|const)|interface) (\w+)/gm)].map(([, name]) => name),
    ),
  )
  expect(globals.has('Node')).toBe(true)
  const names = Object.values(NAMES).flatMap((each) => each.split(' '))
  expect(names.filter((name) => globals.has(name))).toEqual([])
})
