import { canonicalJson, visible } from '@chancery/protocol'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, cutText, fields, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { endpointText, toJson, verdictText, verifyAgent } from './agents.ts'
import { CardFormError, signAgentCard } from '@chancery/sdk/a2a'
import type { CapabilityCount, Client } from '@chancery/sdk/authority'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { connectAsNode, findCertificateProblem, loadCertificate } from '../../connection/node-folder.ts'
import { loadJsonObject } from '../../files/json-file.ts'

/** `agent list --node`: prints one public registration. */
export async function showAgent(context: CommandContext, options: Options, key: string): Promise<Result> {
  const connection = await connect(context, options)
  const descriptor = await connection.ask((client) => client.agents.find(key))
  const verified = await verifyAgent(descriptor, { genesis: connection.genesis, now: context.now() })
  const isOther = descriptor.node_public_key !== key
  const verdict = isOther ? { descriptor, problem: 'it is the registration of another key' } : verified
  const rows = fields(
    [
      ['network', descriptor.network_name],
      ['capabilities', descriptor.capabilities.join(', ') || '-'],
      ['endpoint', endpointText(descriptor.endpoint)],
      ['announced', descriptor.registered_at],
      ['until', descriptor.expires_at],
      ['metadata', Object.keys(descriptor.metadata).length === 0 ? '-' : canonicalJson(descriptor.metadata)],
      ['node key', descriptor.node_public_key],
      ['signature', verdictText(verdict)],
    ],
    context.style,
  )
  const text = `${context.style.title(visible(descriptor.agent_id))}\n${rows}`
  return { data: toJson(verdict), text, exitCode: verdict.problem === undefined ? 0 : 1 }
}

const PAGE = 1000

interface Found {
  readonly rows: readonly CapabilityCount[]
  readonly total: number | null
  readonly isCut: boolean
}

/** `agent list --count-by capability`: capabilities with their number of agents. */
export async function countCapabilities(context: CommandContext, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, PAGE)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { rows, total, isCut } = await connection.ask((client) => fetchRows(client, options.text('search'), most))
  const data = { count: rows.length, total, capabilities: rows.map((row) => ({ ...row })) }
  if (rows.length === 0) return { data, text: 'No agent has such a capability.', ids: [] }
  const lines = rows.map(({ capability, agents }) => [visible(capability), String(agents)])
  const number = rows.length === 1 ? '1 capability.' : `${rows.length} capabilities.`
  return {
    data,
    ids: rows.map(({ capability }) => capability),
    text: `${table(['CAPABILITY', 'AGENTS'], lines, context.style)}\n\n${number}${cutText(isCut, rows.length, total)}`,
  }
}

async function fetchRows(client: Client, q: string | undefined, most: number): Promise<Found> {
  const rows: CapabilityCount[] = []
  for (let cursor: string | undefined; ;) {
    const page = await client.agents.capabilities({
      limit: Math.min(PAGE, most - rows.length),
      ...(q === undefined ? {} : { q }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    rows.push(...page.capabilities)
    const next = page.next_cursor ?? undefined
    if (next === undefined) return { rows, total: rows.length, isCut: false }
    if (rows.length >= most || next === cursor) return { rows, total: page.total ?? null, isCut: true }
    cursor = next
  }
}

/** Runs `agent sign-card`: makes no call, so it works while the authority is away. */
export async function runAgentCardSign(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { signer, files, followed, url } = await connectAsNode(context, options)
  const certificate = await loadCertificate(files)
  const expected = { keys: followed.keys, publicKey: signer.publicKey, now: context.now() }
  const problem = await findCertificateProblem(certificate, expected)
  if (problem !== undefined) {
    const message = `The certificate ${certificate.cert_id} is not usable: ${problem}.`
    throw new CommandError({ code: 'invalid_certificate', message, hint: 'Get a new one with: chancery node renew' })
  }
  const card = await loadJsonObject(context.cwd, args.required('file'))
  const crl = options.text('crl-url') ?? `${url.replace(/\/+$/, '')}/crl`
  const signed = await signAgentCard(card, { signer, certificate, crl }).catch((error: unknown) => {
    if (!(error instanceof CardFormError)) throw error
    throw new CommandError({
      code: 'invalid_card',
      message: 'The agent card cannot be signed: readers would write its signed bytes differently.',
      problems: error.problems,
      hint: 'Change these members, then sign again.',
    })
  })
  if (Object.hasOwn(card, 'signatures')) context.note('the former signatures of the card were left out')
  context.note(`the signature is valid until ${certificate.expires_at}; sign again after each renewal`)
  const { cert_id, network_name: network, expires_at } = certificate
  return { data: { cert_id, network, expires_at, card: signed }, text: JSON.stringify(signed, undefined, 2) }
}
