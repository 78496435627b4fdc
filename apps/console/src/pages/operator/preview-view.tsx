import type { PolicySimulation } from '@chancery/sdk'
import type { JSX } from 'preact'
import { Badge } from '../../components/badge.tsx'
import type { DiffLine } from './diff.ts'
import type { Preview } from './preview.ts'
import { ImpactDrawing } from './impact.tsx'

/** Shows the effect of an action: as sentences, as a drawing, as a diff, and as simulated decisions. */
export function PreviewView({ preview }: { readonly preview: Preview }): JSX.Element {
  const { lines, impact, diff, simulation } = preview
  return (
    <>
      {lines.length === 0 ? null : (
        <ul data-preview>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {impact === undefined ? null : <ImpactDrawing impact={impact} />}
      {diff === undefined ? null : <Diff lines={diff} />}
      {simulation === undefined ? null : <Simulation simulation={simulation} />}
    </>
  )
}

const SIGNS: Readonly<Record<DiffLine['sign'], string>> = { '+': 'added: ', '-': 'removed: ', ' ': '' }

function Diff({ lines }: { readonly lines: readonly DiffLine[] }): JSX.Element {
  if (lines.length === 0) return <p data-diff="none">Identical to the active version.</p>
  return (
    <figure class="example" data-diff="some">
      <figcaption>Active now (−) and afterwards (+)</figcaption>
      <pre class="diff" tabIndex={0}>
        {lines.map(({ sign, text }, i) => (
          <div key={i} class={sign === '+' ? 'added' : sign === '-' ? 'removed' : ''}>
            <span class="unseen">{SIGNS[sign]}</span>
            <span aria-hidden="true">{sign} </span>
            {text}
          </div>
        ))}
      </pre>
    </figure>
  )
}

function Simulation({ simulation }: { readonly simulation: PolicySimulation }): JSX.Element {
  const { total, newly_denied, newly_allowed, unchanged, sample, candidate_set_healthy } = simulation
  const left = newly_denied + newly_allowed - sample.length
  return (
    <div data-simulation={`${newly_denied}/${newly_allowed}/${unchanged}`}>
      <p>
        Simulated with {total} requests:{' '}
        <Badge tone={newly_denied > 0 ? 'bad' : 'ended'} word={`${newly_denied} newly denied`} />{' '}
        <Badge tone={newly_allowed > 0 ? 'watch' : 'ended'} word={`${newly_allowed} newly allowed`} />{' '}
        <Badge tone="ended" word={`${unchanged} as now`} />
      </p>
      {candidate_set_healthy ? null : (
        <p role="alert">With this version the policy set would be unhealthy, and all requests would be denied.</p>
      )}
      {sample.length === 0 ? null : (
        <ul class="plain">
          {sample.map(({ index, store_sequence, change, candidate }) => (
            <li key={index}>
              {store_sequence === null ? `Request ${index + 1}` : `Decision #${store_sequence}`}:{' '}
              {change.replaceAll('_', ' ')}
              {candidate.denial_reason === null ? '' : `, ${candidate.denial_reason}`}
            </li>
          ))}
          {left > 0 ? <li>and {left} more</li> : null}
        </ul>
      )}
    </div>
  )
}
