//! Options of file formats, over files of a stage: the rows are those that the warehouse documents for them.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};

use crate::copied::{loaded, put, ran, refused, staged};
use crate::world::world;

fn zlib(text: &str) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn deflate(text: &str) -> Vec<u8> {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[tokio::test]
async fn files_that_deflate_has_packed_are_read_and_written() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage s").await;
    put(&world, &id, "a.csv.deflate", zlib("1,a\n"));
    put(&world, &id, "b.csv.raw_deflate", deflate("2,b\n"));
    put(&world, &id, "c.data", zlib("3,c\n"));
    let both = format!("{},{}", loaded("a.csv.deflate", 1), loaded("b.csv.raw_deflate", 1));
    assert_eq!(ran(&world, "copy into t from @s pattern = '.*deflate'").await, both);
    let said = "copy into t from @s/c.data file_format = (type = csv compression = deflate)";
    assert_eq!(ran(&world, said).await, loaded("c.data", 1));
    assert_eq!(ran(&world, "select * from t order by id").await, r#"[1,"a"],[2,"b"],[3,"c"]"#);
    assert_eq!(ran(&world, "select $1, $2 from @s/b.csv").await, r#"["2","b"]"#);
    put(&world, &id, "d.csv.deflate", "4,d\n");
    let broken = "d.csv.deflate: it is no whole DEFLATE file, which begins with a zlib header";
    assert_eq!(refused(&world, "copy into t from @s/d.csv").await, broken);
    let unload = "copy into @s/out/ from (select id, note from t) file_format = (type = csv compression = raw_deflate)";
    ran(&world, unload).await;
    assert_eq!(ran(&world, "select count(*), max($1) from @s/out/data_0_0_0.csv.raw_deflate").await, r#"[3,"3"]"#);
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}
