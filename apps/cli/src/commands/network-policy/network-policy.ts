import { type PolicyManifest, verifyList, visible } from '@chancery/protocol'
import { type Result, type Style, fields, table } from '../../output/screen.ts'
import { type Connection, FOLLOW_HINT, connect, connectAsOperator, signersAt } from '../../connection/connection.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { CommandContext } from '../../context.ts'
import { loadStructured, saveRecord } from '../../files/json-file.ts'
import type { Options } from '../../arguments/options.ts'
import { missingRecord, requireConsent } from '../../prompts/preview.ts'
import type { PolicyVersion } from '@chancery/sdk/authority'

/** Returns one manifest as text. */
function describePolicy(policy: PolicyManifest, signature: string, style: Style): string {
  const rows = fields(
    [
      ['issued at', policy.issued_at],
      ['issued by', policy.issued_by],
      ['signature', signature],
      ['minimum client', policy.min_client_version],
      ['allowed ports', listed(policy.allowed_ports.map(String))],
      ['allowed services', listed(policy.allowed_services)],
      ['transports', listed(policy.routing.preferred_transports)],
      ['maximum hops', String(policy.routing.max_hops)],
    ],
    style,
  )
  return `${style.title(visible(policy.policy_id))}\n${rows}`
}

function listed(words: readonly string[]): string {
  return words.length === 0 ? '-' : words.join(', ')
}

/**
 * Verifies a manifest with the authority key of the local genesis block. A proxy can send any
 * manifest; without a block it is not verified, and the text states this.
 */
async function checkSignature(connection: Connection, policy: PolicyManifest): Promise<string> {
  const { config } = connection
  const keys = signersAt(connection, policy)
  if (keys === undefined) return 'not checked (no genesis block is configured)'
  if (await verifyList(policy, keys)) return 'valid, by the authority of the configured genesis block'
  throw new CommandError({
    code: 'invalid_signature',
    message: `The policy from ${connection.url} is not signed by the authority of ${config.paths.genesis ?? 'the genesis block'}.`,
    hint: `This is another network, or a proxy changed the response. Do not use it. ${FOLLOW_HINT}`,
  })
}

/** `policy publish` of a network policy: sends the file unchanged; the authority reads, signs and activates it. */
export async function publishNetworkPolicy(context: CommandContext, file: string, options: Options): Promise<Result> {
  const { style } = context
  const request = await loadStructured(context.cwd, file)
  if (options.isSet('dry-run'))
    throw usageError('A network policy has no preview.', 'Compare it with: chancery policy show network')
  const connection = await connectAsOperator(context, options)
  const { manifest, created } = await connection.ask((client) => client.policy.publish(request))
  const signature = await checkSignature(connection, manifest)
  const title = created ? `${style.good('Published')} and active:` : 'This version was stored before; it is active:'
  return { data: manifest, ids: [manifest.policy_id], text: `${title}\n${describePolicy(manifest, signature, style)}` }
}

/** `policy activate network`: every node follows the active policy, so it asks first. */
export async function rollBack(context: CommandContext, policyId: string, options: Options): Promise<Result> {
  if (options.isSet('dry-run'))
    throw usageError('A network policy has no preview.', 'Compare it with: chancery policy show network')
  const connection = await connectAsOperator(context, options)
  const question = `Make ${visible(policyId)} the active policy at ${connection.url}?`
  await requireConsent(context, options, question, () => findVersion(connection, policyId))
  const manifest = await connection.ask((client) => client.policy.rollback({ policy_id: policyId }))
  const signature = await checkSignature(connection, manifest)
  return {
    data: manifest,
    ids: [manifest.policy_id],
    text: `${context.style.good('Active again:')}\n${describePolicy(manifest, signature, context.style)}`,
  }
}

async function findVersion(connection: Connection, id: string): Promise<void> {
  const { versions, next_cursor: more } = await connection.ask((client) => client.policy.history({ limit: 1000 }))
  // Older versions are on later pages; then the authority decides.
  if (versions.some(({ policy_id }) => policy_id === id) || (more ?? null) !== null) return
  throw missingRecord('policy_not_found')
}

/** `policy show network`: the active manifest, which is public. */
export async function showNetworkPolicy(context: CommandContext, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const { record: policy, saved } = await saveRecord(context.cwd, options, () =>
    connection.ask((client) => client.policy.current()),
  )
  const signature = await checkSignature(connection, policy)
  return { data: policy, text: `${describePolicy(policy, signature, context.style)}${saved}` }
}

/** Every stored version, for `policy list`. */
export async function describeNetworkVersions(
  { style }: CommandContext,
  connection: Connection,
): Promise<{ readonly versions: readonly PolicyVersion[]; readonly text: string }> {
  const versions = await connection.ask(async (client) => {
    const all: PolicyVersion[] = []
    for (let cursor: string | undefined; ;) {
      const page = await client.policy.history(cursor === undefined ? {} : { cursor })
      all.push(...page.versions)
      // A cursor that does not move would cause an endless loop.
      if (page.next_cursor === null || page.next_cursor === undefined || page.next_cursor === cursor) return all
      cursor = page.next_cursor
    }
  })
  if (versions.length === 0) return { versions, text: 'No version of the network policy is stored yet.' }
  const rows = versions.map(({ active, policy_id, created_at, policy }) => [
    policy_id,
    active ? 'active' : '-',
    created_at,
    policy.min_client_version,
    policy.allowed_ports.join(','),
  ])
  return { versions, text: table(['NETWORK POLICY', 'STATE', 'CREATED', 'MIN CLIENT', 'PORTS'], rows, style) }
}
