import { type DraftFormat, JSON_FORMAT } from './draft-format.ts'

/** Loads a format. The form and the reader of YAML are separate scripts, loaded on first use. */
export async function loadFormat(name: DraftFormat['name'] | undefined): Promise<DraftFormat> {
  if (name === 'Form') return (await import('./form/form-view.tsx')).FORM_FORMAT
  return name === 'YAML' ? (await import('./yaml-format.ts')).YAML_FORMAT : JSON_FORMAT
}
