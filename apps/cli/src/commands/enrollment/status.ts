import {
  CompactCrl,
  authorityKeysAt,
  checkListAdvance,
  readJoinCertificate,
  readJson,
  visible,
} from '@chancery/protocol'
import type { AuthorityKeys, Instant, Signer } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, fields } from '../../output/screen.ts'
import { explain } from '../../errors/explain.ts'
import { FOR_ALL, errorCode, readBytes, readText, replaceFile, typed } from '../../files/files.ts'
import {
  connectAsNode,
  findCertificate,
  findCertificateProblem,
  storeCertificate,
} from '../../connection/node-folder.ts'
import type { NodeConnection, NodeFiles } from '../../connection/node-folder.ts'
import type { Options } from '../../arguments/options.ts'
import { describeClock, describeState, findNextStep, stateOf } from './node-state.ts'
import type { Findings, NextStep, Revocation, State } from './node-state.ts'
import { dirname, join, resolve } from 'node:path'
import type { NodeDocument, NodeStore } from '@chancery/sdk'
import { CommandError } from '../../errors/failure.ts'

/** Stores the files of a node at the paths of its configuration. */
export class HomeStore implements NodeStore {
  readonly #files: NodeFiles
  readonly #signer: Signer

  constructor(files: NodeFiles, signer: Signer) {
    this.#files = files
    this.#signer = signer
  }

  signer(): Promise<Signer> {
    return Promise.resolve(this.#signer)
  }

  read(document: NodeDocument): Promise<string | undefined> {
    return readText(this.#path(document)).catch(undefinedIfMissing)
  }

  readBytes(document: NodeDocument): Promise<Uint8Array | undefined> {
    return readBytes(this.#path(document)).catch(undefinedIfMissing)
  }

  /** For lists; {@link write} formats certificates. */
  writeBytes(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void> {
    return replaceFile(this.#path(document), [...pieces, Buffer.from('\n')], FOR_ALL)
  }

  async write(document: NodeDocument, text: string): Promise<void> {
    // Indented for people, like the file of `join`.
    if (document === 'certificate') return storeCertificate(this.#files, readJoinCertificate(readJson(text)))
    return replaceFile(this.#path(document), `${text}\n`, FOR_ALL)
  }

  #path(document: NodeDocument): string {
    if (document !== 'join' && document !== 'positions') return this.#files[document]
    return join(dirname(this.#files.certificate), `${document}.json`)
  }
}

/** Returns the error of reading a file; throws any other error. */
function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
  throw error
}

/** Returns why an offered list is refused, or undefined. It must be signed by the authority and not older than the stored one. */
async function findListProblem(
  list: CompactCrl,
  keys: AuthorityKeys,
  stored: CompactCrl | undefined,
  now: Instant,
): Promise<string | undefined> {
  const { issuer, issued_at, sequence } = list.crl
  if (!(await list.isSignedBy(authorityKeysAt(keys, issued_at))))
    return 'the authority of the genesis block did not sign it'
  if (stored === undefined) return undefined
  // Both keys are the authority's: after a succession its lists go on under the name of the new one.
  const verdict = checkListAdvance({ ...stored.position, issuer }, list.position, now)
  if (verdict.ok) return undefined
  return {
    other_issuer: `it is a list of ${issuer}, but the stored list is of ${stored.position.issuer}`,
    rollback: `it has sequence ${sequence} of ${issued_at}, but the stored list has the later sequence ${stored.position.sequence}`,
    equivocation: `the stored list with sequence ${sequence} has other revocations`,
  }[verdict.reason]
}

/** Returns the list of an earlier run, or undefined if it is missing or damaged. */
async function findSavedList({ crl: path }: NodeFiles, keys: AuthorityKeys): Promise<CompactCrl | undefined> {
  const bytes = await readBytes(path).catch(undefinedIfMissing)
  const saved = bytes === undefined ? undefined : CompactCrl.read(bytes)
  return saved !== undefined && (await saved.isSignedBy(authorityKeysAt(keys, saved.crl.issued_at))) ? saved : undefined
}

/** `status` of a node: checks it and changes nothing. */
export async function nodeStatus(context: CommandContext, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const findings = await checkNode(context, connection)
  const home = options.text('home')
  const nextStep = findNextStep(
    findings,
    home === undefined ? '' : `--home ${typed(context.cwd, resolve(context.cwd, home))}`,
  )
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
