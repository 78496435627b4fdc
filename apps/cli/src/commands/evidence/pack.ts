import { resolve } from 'node:path'
import type { EvidencePack, GivenRecords } from '@chancery/sdk/authority'
import { verifyPack, writePack, writePackPage, type EvidencePackReport } from '@chancery/sdk/evidence'
import { EvidencePackError, collectEvidencePack } from '@chancery/sdk/internal'
import type { Arguments, Options } from '../../arguments/options.ts'
import { FOLLOW_HINT, connectAsOperator, genesisWord } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, loadPageTemplate, readText, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { Result } from '../../output/screen.ts'

/** Runs `evidence pack`: verifies everything before it is written. */
export async function runEvidencePack(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const file = resolve(context.cwd, options.required('out'))
  await refuseExisting([file])
  const given = await loadGiven(context, options)
  const connection = await connectAsOperator(context, options)
  const pack = await connection.ask((client) => collect(() => collectEvidencePack(client, id, given), id))
  const report = await verifyPack(pack, { genesis: connection.genesis })
  // Without a configured genesis block the root key is not compared, and the connection says so.
  const hasFailed = report.checks.some(({ status }) => status === 'failed')
  if (hasFailed || report.decision_id !== id) throw notValid(report, connection.url)
  const isPage = options.isSet('html')
  await writeNewFile(file, isPage ? writePackPage(loadPageTemplate(), pack) : writePack(pack), FOR_ALL)
  const unchecked = report.checks.filter(({ status }) => status === 'unchecked').map(({ name }) => name)
  const name = typed(context.cwd, file)
  const text = [
    `${context.style.good('Written:')} ${name}, with ${count(pack)} records.`,
    ...(unchecked.length === 0 ? [] : [`Not in it, or not checked: ${unchecked.join(', ')}.`]),
    isPage
      ? `The auditor opens the page in a browser to read it, and verifies it with: chancery verify ${name} --genesis ${genesisWord(context.cwd, connection)}`
      : `The auditor runs: chancery verify ${name} --genesis ${genesisWord(context.cwd, connection)}`,
  ]
  return {
    data: { decision_id: id, file: name, contents: { ...pack.contents }, unchecked },
    ids: [id],
    text: text.join('\n'),
  }
}

/** Counts the records. Proofs and former keys are parts of others. */
function count({ contents }: EvidencePack): number {
  const { inclusion_proofs: _proofs, former_keys: _keys, witnesses: _witnesses, ...records } = contents
  return Object.values(records).reduce((sum, each) => sum + each, 0)
}

async function loadGiven({ cwd }: CommandContext, options: Options): Promise<GivenRecords> {
  const load = async (name: string) => {
    const file = options.text(name)
    return file === undefined ? undefined : loadJsonObject(cwd, file)
  }
  const checkpoint = options.text('checkpoint')
  return {
    attestation: await load('attestation'),
    agreement: await load('agreement'),
    checkpoint: checkpoint === undefined ? undefined : await readText(resolve(cwd, checkpoint)),
    witnesses: options.list('witness'),
  }
}

async function collect(read: () => Promise<EvidencePack>, id: string): Promise<EvidencePack> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof EvidencePackError)) throw error
    const hint =
      'Find decisions with: chancery evidence list --kind decision. After retention, search in a saved export.'
    throw new CommandError(
      { code: 'decision_not_found', message: `The evidence store has no decision ${id}.`, hint },
      { cause: error },
    )
  }
}

function notValid({ checks, decision_id }: EvidencePackReport, url: string): CommandError {
  const failed = checks
    .filter(({ status }) => status === 'failed')
    .map(({ name, detail }) => `${name} (${detail ?? ''})`)
  return new CommandError({
    code: 'invalid_evidence_pack',
    message: `The records of ${url} do not verify: ${failed.join(', ') || `they are of decision ${decision_id ?? '-'}`}. Nothing was written.`,
    hint: `This is another network, or a record was changed. ${FOLLOW_HINT}`,
  })
}
