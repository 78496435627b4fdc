import type { JSX } from 'preact'
import type { Preview } from './preview.ts'
import { ImpactDrawing } from './impact.tsx'

/** Shows the effect of an action: as sentences and as a drawing. */
export function PreviewView({ preview }: { readonly preview: Preview }): JSX.Element {
  const { lines, impact } = preview
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
    </>
  )
}
