import { visible } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { explain } from '../../explain.ts'
import { typed } from '../../files.ts'
import { connectAsNode, findCertificate, whyNotOurs } from '../../node-home.ts'
import type { NodeConnection } from '../../node-home.ts'
import type { Arguments, Options } from '../../options.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'
import { findKeptCrl, toHeld, whyNotList } from './kept-lists.ts'
import { adviseOn, describeClock, describeState, stateOf } from './standing.ts'
import type { Advice, Findings, Revocation, State } from './standing.ts'

/** status: looks at everything a node depends on and changes nothing. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const findings = await look(context, connection)
  const home = options.text('home')
  const advice = adviseOn(findings, home === undefined ? '' : `--home ${typed(context.cwd, home)}`)
  const exitCode = advice.ok ? 0 : 1
  return {
    data: toJson(connection, findings, advice),
    text: describe(connection, findings, advice, context.style),
    exitCode,
  }
}

async function look(context: CommandContext, connection: NodeConnection): Promise<Findings> {
  const { files, followed, signer } = connection
  const certificate = await findCertificate(files.certificate)
  const reach = await reachAuthority(connection)
  const now = context.now()
  const expected = { keys: followed.keys, publicKey: signer.publicKey, now }
  return {
    now,
    certificate,
    notOurs: certificate === undefined ? undefined : await whyNotOurs(certificate, expected),
    revocation: await lookUp(connection, certificate?.cert_id, reach.problem, now),
    authorityProblem: reach.problem,
    clockOffsetSeconds: reach.offset,
  }
}

interface Reach {
  readonly problem: string | undefined
  readonly offset: number | undefined
}

async function reachAuthority(connection: NodeConnection): Promise<Reach> {
  try {
    const reading = await connection.ask((client) => client.health.clock())
    return { problem: undefined, offset: reading?.offsetSeconds }
  } catch (error) {
    return { problem: explain(error).message, offset: undefined }
  }
}

/** The list of the authority when it answers, else the copy of the last run while it holds. */
async function lookUp(
  connection: NodeConnection,
  certId: string | undefined,
  problem: string | undefined,
  now: bigint,
): Promise<Revocation> {
  if (certId === undefined) return { checked: false, why: 'there is no certificate' }
  const { files, followed } = connection
  const kept = await findKeptCrl(files, followed.keys)
  let why = problem
  if (problem === undefined) {
    try {
      const crl = await connection.ask((client) => client.crl.current())
      why = await whyNotList(crl, followed.keys, kept, now)
      const held = toHeld(crl)
      if (why === undefined && held.mark.nextUpdate <= now) why = `the list ran out at ${crl.next_update}`
      if (why === undefined)
        return { checked: true, sequence: crl.sequence, source: 'authority', entry: held.entryOf(certId) }
    } catch (error) {
      why = explain(error).message
    }
  }
  // A copy past its time says nothing about today; an entry in it still holds, for revocations are final.
  const entry = kept?.entryOf(certId)
  if (kept !== undefined && (entry !== undefined || kept.mark.nextUpdate > now))
    return { checked: true, sequence: kept.mark.sequence, source: 'kept', entry }
  return { checked: false, why: why ?? 'there is no list' }
}

function toJson(connection: NodeConnection, findings: Findings, { ok, next }: Advice): NonNullable<Result['data']> {
  const { certificate, revocation, authorityProblem, clockOffsetSeconds: offset } = findings
  return {
    ok,
    state: stateOf(findings),
    network: connection.genesis.network_name,
    url: connection.url,
    node_public_key: connection.signer.publicKey,
    certificate: certificate ?? null,
    problem: findings.notOurs ?? null,
    revocation: revocation.checked
      ? {
          checked: true,
          crl_sequence: revocation.sequence,
          source: revocation.source,
          entry: revocation.entry === undefined ? null : { ...revocation.entry },
        }
      : { checked: false, why: revocation.why },
    authority: { reachable: authorityProblem === undefined, problem: authorityProblem ?? null },
    clock_offset_seconds: offset === undefined ? null : Math.round(offset),
    next,
  }
}

function describe(connection: NodeConnection, findings: Findings, { next }: Advice, style: Style): string {
  const { certificate, revocation, authorityProblem } = findings
  const rows: [string, string][] = [
    ['certificate', describeState(findings)],
    ['id', certificate?.cert_id ?? '-'],
    ['roles', certificate?.roles.join(', ') ?? '-'],
    ['node key', connection.signer.publicKey],
    ['revocation', describeRevocation(revocation)],
    ['authority', authorityProblem ?? `answers at ${connection.url}`],
    ['clock', describeClock(findings.clockOffsetSeconds)],
  ]
  const title = `${style.title(visible(connection.genesis.network_name))}: ${paint(stateOf(findings), style)}`
  return `${title}\n${fields(rows, style)}\n\n${style.title('Next:')} ${visible(next)}`
}

function describeRevocation(revocation: Revocation): string {
  if (!revocation.checked) return `not checked: ${revocation.why}`
  const list = `list ${revocation.sequence}${revocation.source === 'kept' ? ', kept from the last run' : ''}`
  return revocation.entry === undefined ? `not listed (${list})` : `listed (${list})`
}

function paint(state: State, style: Style): string {
  const words = state.replaceAll('_', ' ')
  if (state === 'valid') return style.good(words)
  return state === 'expiring' ? style.warn(words) : style.bad(words)
}
