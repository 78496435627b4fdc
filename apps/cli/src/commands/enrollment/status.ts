import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { explain } from '../../errors/explain.ts'
import { typed } from '../../files/files.ts'
import { connectAsNode, findCertificate, findCertificateProblem } from '../../connection/node-folder.ts'
import type { NodeConnection } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'
import { findSavedList, findListProblem } from './saved-lists.ts'
import { findNextStep, describeClock, describeState, stateOf } from './node-state.ts'
import type { NextStep, Findings, Revocation, State } from './node-state.ts'

/** Runs `status`: checks a node and changes nothing. */
export async function runStatus(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const findings = await checkNode(context, connection)
  const home = options.text('home')
  const nextStep = findNextStep(findings, home === undefined ? '' : `--home ${typed(context.cwd, home)}`)
  const exitCode = nextStep.ok ? 0 : 1
  return {
    data: toJson(connection, findings, nextStep),
    text: describe(connection, findings, nextStep, context.style),
    exitCode,
  }
}

async function checkNode(context: CommandContext, connection: NodeConnection): Promise<Findings> {
  const { files, followed, signer } = connection
  const certificate = await findCertificate(files.certificate)
  const reach = await reachAuthority(connection)
  const now = context.now()
  const expected = { keys: followed.keys, publicKey: signer.publicKey, now }
  return {
    now,
    certificate,
    certificateProblem: certificate === undefined ? undefined : await findCertificateProblem(certificate, expected),
    revocation: await findRevocation(connection, certificate?.cert_id, reach.problem, now),
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

/** Looks up the certificate in the list of the authority, else in the saved copy while it is current. */
async function findRevocation(
  connection: NodeConnection,
  certId: string | undefined,
  problem: string | undefined,
  now: bigint,
): Promise<Revocation> {
  if (certId === undefined) return { checked: false, why: 'there is no certificate' }
  const { files, followed } = connection
  const saved = await findSavedList(files, followed.keys)
  let why = problem
  if (problem === undefined) {
    try {
      const list = await connection.ask((client) => client.crl.compact())
      why = await findListProblem(list, followed.keys, saved, now)
      if (why === undefined && list.position.nextUpdate <= now) why = `the list ran out at ${list.crl.next_update}`
      if (why === undefined)
        return { checked: true, sequence: list.position.sequence, source: 'authority', entry: list.entryOf(certId) }
    } catch (error) {
      why = explain(error).message
    }
  }
  // An expired copy does not prove the absence of a revocation. An entry in it counts, because revocations are permanent.
  const entry = saved?.entryOf(certId)
  if (saved !== undefined && (entry !== undefined || saved.position.nextUpdate > now))
    return { checked: true, sequence: saved.position.sequence, source: 'kept', entry }
  return { checked: false, why: why ?? 'there is no list' }
}

function toJson(connection: NodeConnection, findings: Findings, { ok, next }: NextStep): NonNullable<Result['data']> {
  const { certificate, revocation, authorityProblem, clockOffsetSeconds: offset } = findings
  return {
    ok,
    state: stateOf(findings),
    network: connection.genesis.network_name,
    url: connection.url,
    node_public_key: connection.signer.publicKey,
    certificate: certificate ?? null,
    problem: findings.certificateProblem ?? null,
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

function describe(connection: NodeConnection, findings: Findings, { next }: NextStep, style: Style): string {
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
  const list = `list ${revocation.sequence}${revocation.source === 'kept' ? ', saved by the last run' : ''}`
  return revocation.entry === undefined ? `not listed (${list})` : `listed (${list})`
}

function paint(state: State, style: Style): string {
  const words = state.replaceAll('_', ' ')
  if (state === 'valid') return style.good(words)
  return state === 'expiring' || state === 'unchecked' ? style.warn(words) : style.bad(words)
}
