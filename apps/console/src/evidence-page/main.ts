import { readPublicKey, visible } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import {
  verifyPack,
  explainPack,
  type EvidencePackReport,
  type PackCheck,
  type PackStory,
} from '@chancery/sdk/evidence'
import { EvidencePackError, PACK_CHECK_WORDS, readEmbedded } from '@chancery/sdk/internal'

/** The page form of an evidence pack. It verifies the pack inside it and sends nothing. Values are shown as text only. */

type State = PackCheck['status']

const RESULTS: Readonly<Record<State, string>> = { passed: 'Yes', failed: 'No', unchecked: 'Not checked' }

function find(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`The page has no element ${id}.`)
  return found
}

/** An element with texts and elements in it. No value becomes markup. */
function make(name: string, ...content: readonly (string | Node)[]): HTMLElement {
  const element = document.createElement(name)
  element.append(...content.map((each) => (typeof each === 'string' ? visible(each) : each)))
  return element
}

function mark(state: State, word: string): HTMLElement {
  const element = make('b', word)
  element.dataset['state'] = state
  return element
}

function fill(id: string, items: readonly HTMLElement[], empty: string): void {
  find(id).replaceChildren(...(items.length === 0 ? [make('li', empty)] : items))
}

function showVerdict(state: State, text: string): void {
  const element = find('verdict')
  element.dataset['state'] = state
  element.replaceChildren(visible(text))
}

const HEADING = 'A decision and its evidence'

/** A pack that is not verified keeps the general heading, and its sentences are not stated as facts. */
function showStory(story: PackStory | undefined, isValid: boolean): void {
  const heading = isValid && story !== undefined ? story.heading : HEADING
  find('heading').replaceChildren(visible(heading))
  document.title = `${visible(heading)} · Evidence pack`
  const sentences = [
    ...(isValid ? [] : ['The pack states the following. It is not proven.']),
    ...(story?.sentences ?? ['The decision cannot be read.']),
  ]
  find('decision').replaceChildren(...sentences.map((sentence) => make('p', sentence)))
  const reasons = (story?.reasons ?? []).map(({ passed, observed, text }) => {
    const state = passed ? 'passed' : observed ? 'unchecked' : 'failed'
    return make('li', mark(state, passed ? 'Passed' : observed ? 'Observed' : 'Not passed'), ` ${text}`)
  })
  fill('reasons', reasons, 'The pack names no gate.')
  fill(
    'executions',
    (story?.executions ?? []).map((sentence) => make('li', sentence)),
    'The pack has no proven execution.',
  )
}

function showReport({ checks, not_proven, valid }: EvidencePackReport): void {
  const failed = checks.filter(({ status }) => status === 'failed')
  const unchecked = checks.filter(({ status }) => status === 'unchecked').length
  // Counts and checksum of the pack have no signature, so they prove nothing.
  const passed = checks.filter(({ name, status }) => status === 'passed' && name !== 'contents').length
  if (valid) {
    const rest = unchecked === 0 ? '' : ` ${unchecked} not checked: see «Not proven».`
    showVerdict('passed', `Valid: ${passed} checks passed.${rest}`)
  } else if (failed.length === 0)
    showVerdict('unchecked', 'Not verified: the root key was not compared. Paste the root key that you trust.')
  else {
    const names = failed.map(({ name }) => name).join(', ')
    showVerdict(
      'failed',
      `Not valid: ${failed.length} of ${checks.length} checks failed (${names}). Do not rely on this page.`,
    )
  }
  const lines = checks.map(({ name, status, detail }) => {
    const line = make('li', mark(status, RESULTS[status]), ` ${PACK_CHECK_WORDS[name]}`)
    if (detail !== null) line.append(make('small', detail))
    line.dataset['check'] = name
    line.dataset['status'] = status
    return line
  })
  fill('checks', lines, 'No check ran.')
  fill(
    'unproven',
    not_proven.map((sentence) => make('li', sentence)),
    'Nothing is left.',
  )
}

function showFacts(pack: EvidencePack, { decision_id, network, root_public_key }: EvidencePackReport): void {
  const facts = [
    ['Network', network],
    ['Decision', decision_id ?? 'none'],
    ['Root key in this pack', root_public_key],
    ['Digest of this pack', pack.pack_digest],
  ] as const
  find('facts').replaceChildren(...facts.flatMap(([name, value]) => [make('dt', name), make('dd', value)]))
}

async function verify(pack: EvidencePack, rootKey: string | undefined): Promise<void> {
  try {
    const report = await verifyPack(pack, { rootKey })
    showStory(explainPack(pack, report), report.valid)
    showReport(report)
    showFacts(pack, report)
  } catch (error) {
    showProblem(error)
  }
}

function showProblem(error: unknown): void {
  if (error instanceof EvidencePackError) showVerdict('failed', `Not valid: ${error.message} Do not rely on this page.`)
  else showVerdict('unchecked', `Not verified: this browser could not run the checks (${String(error)}).`)
}

function listen(pack: EvidencePack): void {
  const input = find('root')
  find('root-form').addEventListener('submit', (event) => {
    event.preventDefault()
    const given = input instanceof HTMLInputElement ? input.value.trim() : ''
    const isKey = readPublicKey(given) !== undefined
    find('root-problem').replaceChildren(given === '' || isKey ? '' : 'This is not a public key in base64.')
    void verify(pack, isKey ? given : undefined)
  })
}

async function start(): Promise<void> {
  try {
    const pack = readEmbedded(find('evidence-pack').textContent)
    listen(pack)
    await verify(pack, undefined)
  } catch (error) {
    showProblem(error)
  }
}

await start()
