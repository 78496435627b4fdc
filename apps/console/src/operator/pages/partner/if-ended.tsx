import type { TreatyPreview, TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallError } from '../../client.ts'
import { dashboard } from '../../dashboard.ts'
import { Shape } from '../../parts/state.tsx'
import { endEffects } from './end-effects.ts'
import { previewEnd } from './load.ts'

const SHOWN = 3
const WIDTH = 16

/** What would break if the treaty ended: the dry run of the authority, read once for each treaty. */
export function IfEnded({ id, treaty }: { readonly id: string; readonly treaty: TreatyRow }): JSX.Element {
  const [preview, setPreview] = useState<TreatyPreview>()
  const [problem, setProblem] = useState('')
  const { treaty_id } = treaty.treaty
  useEffect(() => {
    const abort = new AbortController()
    setPreview(undefined)
    setProblem('')
    previewEnd(treaty_id, abort.signal).then(
      (answer) => setPreview(answer as unknown as TreatyPreview),
      (error: unknown) => {
        if (error instanceof CallError) setProblem(error.message)
      },
    )
    return () => abort.abort()
  }, [treaty_id])
  return (
    <section class="panel" data-if-ended={preview === undefined ? 'waiting' : 'ready'}>
      <header>
        <h2>If it ended</h2>
        <div class="end quiet small">dry run</div>
      </header>
      <div class="body">
        {problem === '' ? null : <p class="quiet">{problem}</p>}
        {preview === undefined ? null : (
          <>
            <Ripple id={id} isLost={preview.paths_lost.direct_recognition_lost} />
            <hr class="rule" />
            <ul class="effect">
              {endEffects(preview).map(({ shape, tone, text, more }) => (
                <li key={text}>
                  <Shape shape={shape} tone={tone} />
                  <div>
                    {text}
                    {more === undefined ? null : <p>{more}</p>}
                  </div>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </section>
  )
}

interface TreatyFacts {
  readonly subject_sovereign_id?: string
  readonly lifecycle_state?: string
}

/** Paths from this network: some that stay, and the one that ends. */
function Ripple({ id, isLost }: { readonly id: string; readonly isLost: boolean }): JSX.Element {
  const rows = (dashboard.get()?.value?.treaties ?? []) as readonly TreatyFacts[]
  const others = rows
    .filter(({ lifecycle_state: state }) => state === 'active' || state === 'expiring_soon')
    .map(({ subject_sovereign_id: name }) => name ?? '')
    .filter((name) => name !== id && name !== '')
  const kept = [...new Set(others)].slice(0, SHOWN)
  const names = [...kept, id]
  const step = 130 / Math.max(1, names.length)
  const label = `${isLost ? `The path to ${id} would be lost` : `Another treaty keeps the path to ${id}`}; ${kept.length === 0 ? 'no other path is drawn' : `the paths to ${kept.join(', ')} stay`}`
  return (
    <svg class="ripple" viewBox="0 0 300 150" role="img" aria-label={label}>
      {names.map((name, index) => {
        const y = 10 + step * (index + 0.5)
        const isGone = name === id && isLost
        return (
          <g key={name}>
            <path class={isGone ? 'lost' : 'kept'} d={`M42 75 C90 75 110 ${y} 156 ${y}`} />
            <circle class={`spot${isGone ? ' gone' : ''}`} cx="162" cy={y} r="6" />
            <text class={name === id ? '' : 'faint'} x="174" y={y + 4}>
              {name.length > WIDTH ? `${name.slice(0, WIDTH)}…` : name}
            </text>
          </g>
        )
      })}
      <circle class="spot own" cx="36" cy="75" r="8" />
      <text class="faint mid" x="36" y="102">
        we
      </text>
    </svg>
  )
}
