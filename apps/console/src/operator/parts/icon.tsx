import type { JSX } from 'preact'
import { ICONS, type IconName, SEAL } from './icons.ts'

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  )
}

/** Stands for the operator's key: on the key chip, and on every action that ends with a signature. */
export function Seal(): JSX.Element {
  return (
    <svg class="i goldmark" viewBox="0 0 16 16" aria-hidden="true">
      <path d={SEAL.solid} />
      <path d={SEAL.dashed} stroke-dasharray="1 1.5" />
    </svg>
  )
}
