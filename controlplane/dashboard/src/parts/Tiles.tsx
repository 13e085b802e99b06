/** Numbers to be seen at a glance. */
export function Tiles({ of }: { of: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl className="tiles">
      {of.map(([name, value]) => (
        <div key={name} className="tile">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
