import type { StoreStatus } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { authorityNow } from '../../client.ts'
import { Icon } from '../../parts/icon.tsx'
import { Shape } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import type { CheckedStore } from '../../proof/check-store.ts'
import { findVerified, isStillThere, storeVerified } from '../../proof/verified.ts'

type Checking =
  | { readonly kind: 'none' }
  | { readonly kind: 'busy'; readonly checked: number; readonly abort: AbortController }
  | { readonly kind: 'problem'; readonly text: string }
  | { readonly kind: 'done'; readonly store: CheckedStore }

/** One sentence about the whole store: verified here, changed since, or not verified yet. */
export function Head({ status }: { readonly status: StoreStatus }): JSX.Element {
  const [checking, setChecking] = useState<Checking>({ kind: 'none' })
  const [isChanged, setChanged] = useState(false)
  const current = useRef<AbortController>(undefined)
  useEffect(() => {
    const abort = new AbortController()
    const before = findVerified()
    // A refused or lost read says nothing about the entry.
    if (before !== undefined)
      void isStillThere(before, abort.signal).then(
        (isThere) => setChanged(!isThere),
        () => undefined,
      )
    return () => {
      abort.abort()
      current.current?.abort()
    }
  }, [])
  const verify = async (): Promise<void> => {
    const abort = new AbortController()
    current.current = abort
    setChecking({ kind: 'busy', checked: 0, abort })
    try {
      const { checkStore } = await import('../../proof/check-store.ts')
      const store = await checkStore({
        signal: abort.signal,
        onProgress: (checked) => setChecking({ kind: 'busy', checked, abort }),
      })
      if (isSound(store)) remember(store)
      setChecking({ kind: 'done', store })
    } catch (error) {
      if (abort.signal.aborted) setChecking({ kind: 'none' })
      else setChecking({ kind: 'problem', text: error instanceof Error ? error.message : 'The check did not run.' })
    }
  }
  const last = status.last_store_sequence ?? 0
  return (
    <section class="panel" data-store-head={last}>
      <div class="body">
        <div class="chainhead">
          <div role="status">
            <Sentence checking={checking} isChanged={isChanged} last={last} />
          </div>
          {checking.kind === 'busy' ? (
            <button type="button" class="btn" onClick={() => checking.abort.abort()}>
              Cancel
            </button>
          ) : (
            <button type="button" class="btn" onClick={() => void verify()}>
              <Icon name="tick" />
              {findVerified() === undefined ? 'Verify here' : 'Verify again'}
            </button>
          )}
        </div>
        {checking.kind === 'done' && !isSound(checking.store) ? <Failures store={checking.store} /> : null}
        <Stretches status={status} />
      </div>
    </section>
  )
}

const isSound = ({ report, log }: CheckedStore): boolean => report.failures.length === 0 && log?.isSigned !== false

function remember({ first, last, lastDigest, ms, log }: CheckedStore): void {
  storeVerified({ first, last, digest: lastDigest, at: new Date(authorityNow()).toISOString(), ms, root: log?.root })
}

function Sentence(props: {
  readonly checking: Checking
  readonly isChanged: boolean
  readonly last: number
}): JSX.Element {
  const { checking, isChanged, last } = props
  const before = findVerified()
  if (checking.kind === 'busy')
    return (
      <>
        <h2>Verifying…</h2>
        <p class="quiet">{checking.checked.toLocaleString('en')} entries checked.</p>
      </>
    )
  if (checking.kind === 'problem') return <p role="alert">{checking.text}</p>
  if (checking.kind === 'done' && !isSound(checking.store))
    return (
      <>
        <h2 data-chain="broken">
          <Shape shape="square" tone="bad" /> Broken
        </h2>
        <p class="quiet">Save a copy of the database, and follow the incident guide before you change anything.</p>
      </>
    )
  if (isChanged && before !== undefined && checking.kind === 'none')
    return (
      <>
        <h2 data-chain="changed">
          <Shape shape="square" tone="bad" /> Entry #{before.last} was changed
        </h2>
        <p class="quiet">This browser verified it with another digest. Verify the store again to find the entries.</p>
      </>
    )
  if (before === undefined)
    return (
      <>
        <h2>{last === 0 ? 'The store is empty' : `Entries up to #${last}, not verified in this browser yet`}</h2>
        <p class="quiet">
          Verify here computes every digest, link and signature again, under the pinned genesis block.
        </p>
      </>
    )
  return (
    <>
      <h2 data-chain="valid">
        Unbroken, #{before.first} to #{before.last}
      </h2>
      <p class="quiet">
        Every digest, link and signature was computed again in this browser <Time at={before.at} />. It took
        {` ${(before.ms / 1000).toFixed(1)} s.`}
        {before.root === undefined ? '' : ' The root of the public log is the signed one.'}
        {last > before.last ? ` ${last - before.last} entries are newer.` : ''}
        {checking.kind === 'done' && !checking.store.isWhole ? ' The command line checks a larger store.' : ''}
      </p>
    </>
  )
}

function Failures({ store }: { readonly store: CheckedStore }): JSX.Element {
  const { failures } = store.report
  return (
    <ul class="effect" data-failures={failures.length}>
      {store.log?.isSigned === false ? (
        <li>
          <Shape shape="square" tone="bad" />
          <div>The root that the entries have, {store.log.root}, is not the signed one of the public log.</div>
        </li>
      ) : null}
      {store.problems.map((text, at) => (
        <li key={at}>
          <Shape shape="square" tone="bad" />
          <div>{text}</div>
        </li>
      ))}
      {failures.length > store.problems.length ? <li>and {failures.length - store.problems.length} more</li> : null}
    </ul>
  )
}

const MOST_STRETCHES = 40
const WIDTH = 1120

/** The chain as stretches between anchors; entries after the last anchor are amber. */
function Stretches({ status }: { readonly status: StoreStatus }): JSX.Element | null {
  const { latest_anchor: anchor, unanchored_entries: open, last_store_sequence: last } = status
  if (last === null) return null
  const stretches = Math.min(anchor?.anchor_sequence ?? 0, MOST_STRETCHES)
  const openWidth = open === 0 ? 0 : anchor === null ? WIDTH : Math.max((open / last) * WIDTH, 20)
  const each = stretches === 0 ? 0 : (WIDTH - openWidth) / stretches
  const label = `${anchor?.anchor_sequence ?? 0} anchored stretches and ${open} entries after the last anchor`
  return (
    <>
      <svg class="chainbar" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" role="img" aria-label={label}>
        {Array.from({ length: stretches }, (_, at) => (
          <rect class="bar-accent" key={at} x={at * each} y="1" width={Math.max(each - 2, 1)} height="10" rx="2" />
        ))}
        {openWidth === 0 ? null : (
          <rect class="bar-watch" x={WIDTH - openWidth} y="1" width={openWidth} height="10" rx="2" />
        )}
      </svg>
      <p class="axis">
        <span>#{(status.retention_checkpoint ?? 0) + 1}</span>
        <span>
          {anchor === null ? 'no anchor yet' : `anchor ${anchor.anchor_sequence} at #${anchor.store_sequence}`} ·{' '}
          <span class={open === 0 ? '' : 'warn'}>{open} not anchored</span>
        </span>
      </p>
    </>
  )
}
