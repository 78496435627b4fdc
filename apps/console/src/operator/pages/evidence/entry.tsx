import type { EvidenceStoreEntry, JsonValue } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Drawer } from '../../parts/drawer.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Copy, Id } from '../../parts/id.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Shape, State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import type { EntryFinding } from '../../proof/check-entry.ts'
import { readEntryLines } from '../../proof/entry-lines.ts'
import { kindText, outcomeState } from '../../words/decisions.ts'
import { resourceHref, vendorHref } from '../history/links.ts'

interface Loaded {
  readonly line: string
  readonly before: string | undefined
  readonly entry: EvidenceStoreEntry
  readonly digest: string
  readonly payload: JsonValue
}

/** One entry: its envelope, what this browser verified, and the payload as stored. */
export function EntryDrawer(props: { readonly sequence: number; readonly onClose: () => void }): JSX.Element {
  const { sequence, onClose } = props
  const { value, problem, readAt } = useLive(`entry ${sequence}`, (signal) => load(sequence, signal))
  const decisionId = value?.entry.decision_id ?? null
  return (
    <Drawer
      isReading
      name="entry"
      title={`Entry #${sequence}`}
      sentence={value === undefined ? 'A record of the evidence store.' : `Kind: ${kindText(value.entry.entry_kind)}.`}
      onClose={onClose}
      foot={
        <div class="end">
          {decisionId === null ? null : (
            <a class="btn primary tall" href={`/operator/decisions/${encodeURIComponent(decisionId)}`}>
              Open the decision
            </a>
          )}
        </div>
      }
    >
      {problem === undefined ? null : <Problem problem={problem} />}
      {readAt !== undefined && value === undefined ? (
        <p>The store has no entry #{sequence}. Retention may have removed it.</p>
      ) : null}
      {value === undefined ? null : <Content loaded={value} />}
    </Drawer>
  )
}

async function load(sequence: number, signal: AbortSignal): Promise<Loaded | undefined> {
  const lines = await readEntryLines(Math.max(sequence - 2, 0), 2, signal)
  const isOwn = (line: string): boolean => line.includes(`"store_sequence":${sequence},`)
  const line = lines.find(isOwn)
  if (line === undefined) return undefined
  const { entry, entry_digest, payload } = JSON.parse(line) as {
    readonly entry: EvidenceStoreEntry
    readonly entry_digest: string
    readonly payload: JsonValue
  }
  return { line, before: lines.find((each) => !isOwn(each)), entry, digest: entry_digest, payload }
}

function Content({ loaded }: { readonly loaded: Loaded }): JSX.Element {
  const { entry, line, digest, payload } = loaded
  return (
    <>
      <section>
        <h3>Envelope</h3>
        <Facts
          of={[
            ['Recorded', <Time at={entry.recorded_at} both />],
            ['Outcome', entry.outcome === null ? undefined : <State {...outcomeState(entry.outcome)} />],
            [
              'Vendor',
              entry.vendor_id === null ? undefined : <a href={vendorHref(entry.vendor_id)}>{entry.vendor_id}</a>,
            ],
            ['Capability', entry.capability],
            [
              'Resource',
              entry.resource_id === null ? undefined : (
                <a href={resourceHref(entry.resource_id)}>{entry.resource_id}</a>
              ),
            ],
            ['Executor', entry.executor_sovereign_id],
            [
              'Attestation',
              entry.attestation_id === null ? undefined : <Id id={entry.attestation_id} what="the attestation id" />,
            ],
            ['Digest', <Id id={digest} what="the digest" />],
            [
              'Before it',
              entry.prev_entry_digest === null ? (
                'nothing, it is the first'
              ) : (
                <Id id={entry.prev_entry_digest} what="the digest before it" />
              ),
            ],
          ]}
        />
      </section>
      <Checks loaded={loaded} />
      <details open>
        <summary>
          Payload, as stored<small>{line.length.toLocaleString('en')} characters in the line</small>
        </summary>
        <div class="codebox">
          <Copy text={line} what="the line" />
          <pre class="code" tabIndex={0} aria-label="Payload">
            {JSON.stringify(payload, null, 1)}
          </pre>
        </div>
      </details>
    </>
  )
}

function Checks({ loaded }: { readonly loaded: Loaded }): JSX.Element {
  const [found, setFound] = useState<readonly EntryFinding[]>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let isOver = false
    void import('../../proof/check-entry.ts')
      .then(({ checkEntry }) => checkEntry(loaded.line, loaded.before))
      .then(
        (findings) => isOver || setFound(findings),
        (error: unknown) => isOver || setProblem(error instanceof Error ? error.message : 'The checks did not run.'),
      )
    return () => {
      isOver = true
    }
  }, [loaded.line, loaded.before])
  return (
    <section data-entry-checks={found === undefined ? 'waiting' : 'done'}>
      <h3>Checked in this browser</h3>
      {problem === '' ? null : <p role="alert">{problem}</p>}
      <ul class="proofs" aria-busy={found === undefined && problem === ''}>
        {found?.map(({ text, status }) => (
          <li key={text} data-status={status}>
            <span class="i">
              <Shape
                shape={status === 'passed' ? 'tick' : status === 'failed' ? 'square' : 'dash'}
                tone={status === 'passed' ? 'good' : status === 'failed' ? 'bad' : 'ended'}
              />
            </span>
            <div>{text}</div>
          </li>
        ))}
      </ul>
    </section>
  )
}
