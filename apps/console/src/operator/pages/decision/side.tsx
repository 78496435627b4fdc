import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallError } from '../../client.ts'
import { offerFile } from '../../parts/file.ts'
import { Icon } from '../../parts/icon.tsx'
import { Copy } from '../../parts/id.tsx'
import { Shape, State } from '../../parts/state.tsx'
import { showToast } from '../../parts/toast.tsx'
import type { DecisionStory } from '../../proof/decision-group.ts'
import type { ProofParts } from '../../proof/gather.ts'
import { CHECK_WORDS, type CheckLine, sumText } from '../../words/proofs.ts'

interface Checked {
  readonly lines: readonly CheckLine[]
  readonly parts: ProofParts
  readonly ms: number
}

export interface Checking {
  readonly checked: Checked | undefined
  readonly problem: string
}

/** Runs the checks once for the stored lines: new executions add lines, and other bytes do not change. */
export function useChecks(story: DecisionStory, lines: readonly string[]): Checking {
  const [found, setFound] = useState<Checking>({ checked: undefined, problem: '' })
  useEffect(() => {
    let isOver = false
    void check(story, lines).then(
      (checked) => isOver || setFound({ checked, problem: '' }),
      (error: unknown) => {
        const problem = error instanceof Error ? error.message : 'The checks did not run.'
        if (!isOver) setFound({ checked: undefined, problem })
      },
    )
    return () => {
      isOver = true
    }
  }, [lines.join('\n')])
  return found
}

const fileName = ({ decision }: DecisionStory): string => `decision-${decision.decision_id.slice(0, 8)}.json`

export function ExportButton(props: { readonly story: DecisionStory; readonly checking: Checking }): JSX.Element {
  const parts = props.checking.checked?.parts
  return (
    <button
      type="button"
      class="btn"
      disabled={parts === undefined}
      onClick={() => void (parts === undefined ? undefined : exportFile(parts, props.story))}
    >
      <Icon name="file" />
      Export as one file
    </button>
  )
}

/** What this browser verified, where the decision is in the store, and how others verify it. */
export function Side(props: { readonly story: DecisionStory; readonly checking: Checking }): JSX.Element {
  const { story, checking } = props
  const command = `chancery verify ${fileName(story)} --genesis genesis.json`
  return (
    <div class="stack">
      <Checks {...checking} />
      <Place story={story} checked={checking.checked} />
      <section class="panel">
        <header>
          <h2>Verify it elsewhere</h2>
        </header>
        <div class="body">
          <div class="cmd">
            <code>{command}</code>
            <Copy text={command} what="the command" />
          </div>
          <p class="quiet small gap">
            The exported file is an evidence pack: entries, policies, attestation, treaty, proofs and keys. The command
            calls no authority.
          </p>
        </div>
      </section>
    </div>
  )
}

async function check(story: DecisionStory, lines: readonly string[]): Promise<Checked> {
  const { checkDecision, gatherParts } = await import('../../proof/check-decision.ts')
  const parts = await gatherParts(lines, story.decision, story.entry.store_sequence)
  const start = performance.now()
  const found = await checkDecision(parts)
  return { lines: found, parts, ms: Math.round(performance.now() - start) }
}

async function exportFile(parts: ProofParts, story: DecisionStory): Promise<void> {
  const name = fileName(story)
  const { evidencePackText } = await import('../../proof/check-decision.ts')
  try {
    offerFile(name, await evidencePackText(parts))
    showToast({ text: `Wrote ${name}.` })
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    showToast({ text: `The file was not written: ${error.message}` })
  }
}

function Checks({ checked, problem }: Checking): JSX.Element {
  const hasFailed = checked?.lines.some(({ status }) => status === 'failed') === true
  return (
    <section class="panel" data-checks={checked === undefined ? 'waiting' : hasFailed ? 'failed' : 'done'}>
      <header>
        <h2>Checked in this browser</h2>
        <div class="end" role="status">
          {checked === undefined ? null : (
            <State
              shape={hasFailed ? 'square' : 'tick'}
              tone={hasFailed ? 'bad' : 'good'}
              word={sumText(checked.lines)}
            />
          )}
        </div>
      </header>
      <div class="body" aria-busy={checked === undefined && problem === ''}>
        {problem === '' ? null : <p role="alert">{problem}</p>}
        <ul class="proofs">
          {checked?.lines.map((line) => (
            <Line key={line.name} line={line} />
          ))}
        </ul>
        {checked === undefined ? null : (
          <>
            <hr class="rule" />
            <p class="quiet small">
              {checked.ms} ms. The keys are those of the genesis block that this browser pinned.
            </p>
          </>
        )}
      </div>
    </section>
  )
}

const MARKS = {
  passed: ['tick', 'good', ''],
  failed: ['square', 'bad', ''],
  waits: ['dashed', 'watch', 'Not yet: '],
  unchecked: ['dash', 'ended', 'Cannot be checked here: '],
} as const

function Line({ line }: { readonly line: CheckLine }): JSX.Element {
  const { name, status, detail, values } = line
  const [shape, tone, before] = MARKS[status]
  return (
    <li class={status === 'failed' ? 'no' : ''} data-check={name} data-status={status}>
      <span class="i">
        <Shape shape={shape} tone={tone} />
      </span>
      <div>
        {CHECK_WORDS[name]}
        {status === 'failed' ? <b> · failed</b> : null}
        <small>
          {before}
          {detail}
        </small>
        {values === undefined ? null : (
          <small>
            expected <code class="id">{values.expected}</code>, found <code class="id">{values.found}</code>
          </small>
        )}
      </div>
    </li>
  )
}

/** The decision between its neighbours. */
function Place(props: { readonly story: DecisionStory; readonly checked: Checked | undefined }): JSX.Element | null {
  const { neighbours } = props.checked?.parts ?? {}
  if (neighbours === undefined || !('value' in neighbours)) return null
  const id = props.story.decision.decision_id
  const entries = neighbours.value.map((line) => (JSON.parse(line) as { readonly entry: DecisionStory['entry'] }).entry)
  return (
    <section class="panel">
      <header>
        <h2>Place in the evidence</h2>
      </header>
      <div class="body">
        <ol class="links">
          {entries.map(({ store_sequence, entry_kind, decision_id }) => (
            <li key={store_sequence} class={decision_id === id ? 'self' : ''}>
              #{store_sequence}
              <small>{entry_kind.replaceAll('_', ' ')}</small>
            </li>
          ))}
        </ol>
        <p class="quiet small gap">
          Stored before the response was sent. <a href={`/operator/evidence?q=${id}`}>Open in Evidence</a>
        </p>
      </div>
    </section>
  )
}
